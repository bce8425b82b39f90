//! Generics: types, constants, lifetimes, bounds, `impl Trait` arguments, and the database.
#![deny(warnings)]

use std::fmt::{Debug, Display};

use idempotent_runtime::Backend;
use idempotent_tests::ui::*;

#[idempotent(key = "of_a_type_<id>")]
async fn of_a_type<T>(conn: &mut SqliteConnection, id: T) -> Result<u32, Failure>
where
    T: KeyPart + Into<i64> + Clone + Send,
{
    order_total(conn, id.into()).await
}

#[idempotent(key = "of_a_shown_type_<order_id>")]
async fn of_a_shown_type<T: Serialize + Debug + Sync>(
    conn: &mut SqliteConnection,
    order_id: i64,
    shown: &[T],
) -> Result<String, Failure> {
    Ok(format!("{shown:?}: {}", order_total(conn, order_id).await?))
}

#[idempotent(key = "of_an_ignored_type_<order_id>", ignore(T))]
async fn of_an_ignored_type<T: Rate>(
    conn: &mut SqliteConnection,
    order_id: i64,
) -> Result<u32, Failure> {
    Ok(order_total(conn, order_id).await? * T::RATE)
}

#[idempotent(key = "of_a_constant_<order_id>_<N>")]
async fn of_a_constant<const N: u32>(
    conn: &mut SqliteConnection,
    order_id: i64,
) -> Result<u32, Failure> {
    Ok(order_total(conn, order_id).await? * N)
}

#[idempotent(key = "of_an_array_<order_id>")]
async fn of_an_array<const N: usize>(
    conn: &mut SqliteConnection,
    order_id: i64,
    amounts: Amounts<N>,
) -> Result<u32, Failure> {
    let Amounts([amount, ..]) = amounts.shorter();
    Ok(order_total(conn, order_id).await? + amount)
}

struct Amounts<const N: usize>([u32; N]);

impl<const N: usize> Amounts<N> {
    fn shorter(&self) -> Amounts<1> {
        Amounts([self.0.iter().sum()])
    }
}

impl<const N: usize> Serialize for Amounts<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0[..].serialize(serializer)
    }
}

#[idempotent(key = "early_<order_id>_<text>")]
async fn early<'a: 'b, 'b>(
    conn: &mut SqliteConnection,
    order_id: i64,
    text: &'a str,
    other: &'b str,
) -> Result<String, Failure> {
    Ok(format!("{text}{other}{}", order_total(conn, order_id).await?))
}

#[idempotent(key = "late_<order_id>")]
async fn late<'c, 'o>(
    conn: &'c mut SqliteConnection,
    order_id: &'o i64,
) -> Result<u32, Failure> {
    order_total(conn, *order_id).await
}

#[idempotent(key = "of_the_job_<order_id>")]
async fn of_the_job<'j>(job: &mut Job<'j, Sqlite>, order_id: i64) -> Result<u32, Failure> {
    gateway::charge(job.key(), order_id).await
}

#[idempotent(key = "of_impl_trait_<order_id>")]
async fn of_impl_trait(
    conn: &mut SqliteConnection,
    order_id: impl Into<i64> + KeyPart + Clone + Send,
    name: &(impl Display + Sync),
) -> Result<String, Failure> {
    Ok(format!("{name}: {}", order_total(conn, order_id.into()).await?))
}

#[idempotent(key = "bounded_<order_id>", ignore(G))]
async fn bounded<'g, G>(
    conn: &mut SqliteConnection,
    order_id: i64,
    with: &'g G,
) -> Result<u32, Failure>
where
    G: Fn(u32) -> u32 + Sync + ?Sized + 'g,
    for<'x> &'x G: Send,
{
    Ok(with(order_total(conn, order_id).await?))
}

#[idempotent(key = "of_any_database_<order_id>")]
async fn of_any_database<DB: Backend>(
    job: &mut Job<'_, DB>,
    order_id: i64,
) -> Result<u32, Failure> {
    gateway::charge(job.key(), order_id).await
}

#[idempotent(key = "of_any_connection_<order_id>")]
async fn of_any_connection<DB: Orders>(
    conn: &mut DB::Connection,
    order_id: i64,
) -> Result<u32, Failure> {
    DB::total(conn, order_id).await
}

trait Orders: Backend {
    async fn total(conn: &mut Self::Connection, order_id: i64) -> Result<u32, Failure>;
}

impl Orders for Sqlite {
    async fn total(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }
}

fn main() {
    on_a_store(async |store| {
        assert_eq!(of_a_type(store, 42_i64).await.unwrap().into_value(), 7);
        assert_eq!(of_a_type::<i32>(store, 42).await.unwrap().into_value(), 7);
        let shown = of_a_shown_type(store, 42, &["a", "b"]).await.unwrap();
        assert_eq!(shown.into_value(), "[\"a\", \"b\"]: 7");
        assert_eq!(of_an_ignored_type::<Vat>(store, 42).await.unwrap().into_value(), 14);
        assert_eq!(of_a_constant::<2>(store, 42).await.unwrap().into_value(), 14);
        assert_eq!(of_a_constant::<3>(store, 42).await.unwrap().into_value(), 21);
        assert_eq!(of_an_array(store, 42, Amounts([1, 2])).await.unwrap().into_value(), 10);
        assert_eq!(early(store, 42, "a", "b").await.unwrap().into_value(), "ab7");
        assert_eq!(late(store, &42).await.unwrap().into_value(), 7);
        assert_eq!(of_the_job(store, 42).await.unwrap().into_value(), 42);
        assert_eq!(of_impl_trait(store, 42_i64, &"x").await.unwrap().into_value(), "x: 7");
        assert_eq!(bounded(store, 42, &|x| x + 1).await.unwrap().into_value(), 8);
        assert_eq!(of_any_database::<Sqlite>(store, 42).await.unwrap().into_value(), 42);
        assert_eq!(of_any_connection::<Sqlite>(store, 42).await.unwrap().into_value(), 7);
    });
}
