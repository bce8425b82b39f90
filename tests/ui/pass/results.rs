//! What a job returns: `Result` under any name, errors of any kind, values of any shape.
#![deny(warnings)]

use std::collections::BTreeMap;
use std::error::Error as StdError;

use idempotent_runtime::Idempotent;
use idempotent_tests::ui::*;

type Answer<T> = std::result::Result<T, Failure>;
type Total = Result<u32, Failure>;

#[idempotent(key = "of_an_alias_<order_id>")]
async fn of_an_alias(conn: &mut SqliteConnection, order_id: i64) -> Answer<u32> {
    order_total(conn, order_id).await
}

#[idempotent(key = "of_a_whole_alias_<order_id>")]
async fn of_a_whole_alias(conn: &mut SqliteConnection, order_id: i64) -> Total {
    order_total(conn, order_id).await
}

#[idempotent(key = "of_anyhow_<order_id>", guard = paid, unique = payments(order_id))]
async fn of_anyhow(conn: &mut SqliteConnection, order_id: i64) -> anyhow::Result<u32> {
    let total = raw_total(&mut *conn, order_id).await?;
    pay(conn, order_id).await?;
    anyhow::ensure!(total > 0, "nothing to charge");
    Ok(total)
}

#[idempotent(key = "of_the_runtime_<order_id>", unique = payments(order_id))]
async fn of_the_runtime(
    conn: &mut SqliteConnection,
    order_id: i64,
) -> idempotent_runtime::Result<i64> {
    let _ = conn;
    Ok(order_id)
}

#[idempotent(key = "of_a_box_<order_id>", unique = payments(order_id))]
async fn of_a_box(
    conn: &mut SqliteConnection,
    order_id: i64,
) -> Result<u32, Box<dyn StdError + Send + Sync>> {
    Ok(raw_total(conn, order_id).await?)
}

#[idempotent(key = "of_a_path_<order_id>")]
async fn of_a_path(
    conn: &mut SqliteConnection,
    order_id: i64,
) -> ::std::result::Result<(), Failure> {
    order_total(conn, order_id).await.map(drop)
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Receipt<T> {
    total: T,
    lines: BTreeMap<String, Vec<Option<(u32, bool)>>>,
}

#[idempotent(key = "of_a_shape_<order_id>")]
async fn of_a_shape(
    conn: &mut SqliteConnection,
    order_id: i64,
) -> Result<Option<Receipt<u32>>, Failure> {
    let total = order_total(conn, order_id).await?;
    let lines = BTreeMap::from([("tea".to_owned(), vec![None, Some((total, true))])]);
    Ok(Some(Receipt { total, lines }))
}

/// What an alias is for: the type of the outer function, in the words of the inner one.
async fn passed_on(store: &SqliteStore) -> Idempotent<Answer<u32>, Never> {
    of_an_alias(store, 42).await
}

fn main() {
    on_a_store(async |store| {
        assert_eq!(of_an_alias(store, 42).await.unwrap(), Outcome::Performed(7));
        assert_eq!(passed_on(store).await.unwrap(), Outcome::Replayed(7));
        assert_eq!(of_a_whole_alias(store, 42).await.unwrap().into_value(), 7);
        assert_eq!(of_anyhow(store, 42).await.unwrap().value(), Some(7));
        assert_eq!(of_the_runtime(store, 42).await.unwrap().value(), Some(42));
        assert_eq!(of_a_box(store, 42).await.unwrap().value(), Some(7));
        of_a_path(store, 42).await.unwrap().into_value();
        let first = of_a_shape(store, 42).await.unwrap();
        let again = of_a_shape(store, 42).await.unwrap();
        assert!(first.is_performed() && again.is_replayed());
        assert_eq!(first.into_value(), again.into_value());
    });
}
