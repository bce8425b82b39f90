//! Parameters that are patterns, and parameters that the body changes.
#![deny(warnings)]

use idempotent_tests::ui::*;

#[derive(Clone, Serialize)]
struct Money {
    cents: u32,
    of: (i64, String),
}

#[derive(Clone, Serialize)]
struct Wrapped(i64);

#[idempotent(key = "mutable_<order_id>")]
async fn mutable(
    mut conn: &mut SqliteConnection,
    mut order_id: i64,
    mut amounts: Vec<u32>,
) -> Result<u32, Failure> {
    order_id += 1;
    amounts.push(order_total(&mut conn, order_id - 1).await?);
    Ok(amounts.iter().sum())
}

#[idempotent(key = "tuple_<order_id>_<line>")]
async fn tuple(
    conn: &mut SqliteConnection,
    (order_id, mut line): (i64, u32),
) -> Result<u32, Failure> {
    line += order_total(conn, order_id).await?;
    Ok(line)
}

#[idempotent(key = "nested_<order_id>_<name>")]
async fn nested(
    conn: &mut SqliteConnection,
    Money { cents, of: (order_id, name) }: Money,
) -> Result<String, Failure> {
    Ok(format!("{name}: {}", cents + order_total(conn, order_id).await?))
}

#[idempotent(key = "rest_<cents>")]
async fn rest(conn: &mut SqliteConnection, Money { cents, .. }: Money) -> Result<u32, Failure> {
    Ok(cents + order_total(conn, 42).await?)
}

#[idempotent(key = "wrapped_<order_id>")]
async fn wrapped(
    conn: &mut SqliteConnection,
    Wrapped(order_id): Wrapped,
) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "behind_<order_id>", inputs(line))]
async fn behind(
    conn: &mut SqliteConnection,
    &(order_id, line): &(i64, u32),
) -> Result<u32, Failure> {
    Ok(line + order_total(conn, order_id).await?)
}

#[idempotent(key = "whole_<order.id>")]
async fn whole(
    conn: &mut SqliteConnection,
    order @ Order { id, .. }: Order,
) -> Result<u32, Failure> {
    Ok(order.amount + order_total(conn, id).await?)
}

#[idempotent(key = "by_ref_<order_id>")]
async fn by_ref(conn: &mut SqliteConnection, ref order_id: i64) -> Result<u32, Failure> {
    order_total(conn, *order_id).await
}

#[idempotent(key = "either_<order_id>")]
async fn either(
    conn: &mut SqliteConnection,
    (Ok(order_id) | Err(order_id)): Result<i64, i64>,
) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "array_<first>_<last>")]
async fn array(
    conn: &mut SqliteConnection,
    [first, .., last]: [i64; 3],
) -> Result<u32, Failure> {
    let _ = last;
    order_total(conn, first).await
}

#[idempotent(key = "unnamed_<order_id>")]
async fn unnamed(
    conn: &mut SqliteConnection,
    order_id: i64,
    _: u32,
    _note: String,
) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "only_in_the_key_<order_id>_<region>")]
async fn only_in_the_key(
    conn: &mut SqliteConnection,
    order_id: i64,
    region: &str,
) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "changed_<order_id>")]
async fn changed(
    conn: &mut SqliteConnection,
    order_id: i64,
    log: &mut Vec<String>,
) -> Result<u32, Failure> {
    log.push("charged".to_owned());
    order_total(conn, order_id).await
}

fn main() {
    on_a_store(async |store| {
        let money = Money { cents: 3, of: (42, "tea".to_owned()) };
        assert_eq!(mutable(store, 42, vec![1]).await.unwrap().into_value(), 8);
        assert_eq!(tuple(store, (42, 1)).await.unwrap().into_value(), 8);
        assert_eq!(nested(store, money.clone()).await.unwrap().into_value(), "tea: 10");
        assert_eq!(rest(store, money).await.unwrap().into_value(), 10);
        assert_eq!(wrapped(store, Wrapped(42)).await.unwrap().into_value(), 7);
        assert_eq!(behind(store, &(42, 1)).await.unwrap().into_value(), 8);
        let order = Order { id: 42, amount: 2 };
        assert_eq!(whole(store, order).await.unwrap().into_value(), 9);
        assert_eq!(by_ref(store, 42).await.unwrap().into_value(), 7);
        assert_eq!(either(store, Err(42)).await.unwrap().into_value(), 7);
        assert_eq!(array(store, [42, 0, 1]).await.unwrap().into_value(), 7);
        let unnamed = unnamed(store, 42, 1, String::new()).await.unwrap();
        assert_eq!(unnamed.into_value(), 7);
        assert_eq!(only_in_the_key(store, 42, "eu").await.unwrap().into_value(), 7);
        let mut log = Vec::new();
        assert!(changed(store, 42, &mut log).await.unwrap().is_performed());
        assert!(changed(store, 42, &mut log).await.unwrap().is_replayed());
        assert_eq!(log, ["charged"]);
    });
}
