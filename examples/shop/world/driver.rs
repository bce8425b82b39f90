//! What differs between the databases: where they are, and how they are asked.

use anyhow::Result;
use idempotent_runtime::Backend;
use sqlx::{Arguments as _, Database, Decode, Encode, MySql, Pool, Postgres, Sqlite, Type};

/// A database that the shop runs on.
///
/// sqlx's queries are typed by their database, so code that is generic over it has to name what it
/// needs of sqlx in bounds, for every type that it binds and reads. Here are these bounds, once. A
/// statement is static text with `?` for each of its values.
pub trait Driver: Backend {
    /// Where it is.
    type Place;

    /// Makes the database if it is not there.
    async fn make(place: &Self::Place) -> Result<()>;

    /// Connects to it.
    async fn connect(place: &Self::Place) -> Result<Pool<Self>>;

    /// Installs the shop's tables.
    async fn lay_out(pool: &Pool<Self>) -> sqlx::Result<()>;

    /// Drops what [`make`](Self::make) made for this run only.
    async fn remove(place: &Self::Place) -> Result<()>;

    /// The one value of the one row, if there is one.
    async fn ask<T: Answer>(
        conn: &mut Self::Connection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Option<T>>;

    /// Changes rows, and gives their number.
    async fn change(
        conn: &mut Self::Connection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<u64>;

    /// Adds one row, and gives its id.
    async fn insert(
        conn: &mut Self::Connection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<i64>;

    /// The one value of a row that has to be there.
    async fn one<T: Answer>(
        conn: &mut Self::Connection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<T> {
        let answer = Self::ask(conn, sql, values).await?;
        answer.ok_or(sqlx::Error::RowNotFound)
    }
}

/// What the shop binds.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Number(i64),
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

/// What the shop reads.
pub trait Answer:
    for<'r> Decode<'r, Sqlite>
    + Type<Sqlite>
    + for<'r> Decode<'r, Postgres>
    + Type<Postgres>
    + for<'r> Decode<'r, MySql>
    + Type<MySql>
    + Send
    + Unpin
{
}

impl Answer for bool {}
impl Answer for i64 {}
impl Answer for String {}

/// The values, as sqlx binds them.
pub(super) fn arguments<DB>(values: &[Value<'_>]) -> sqlx::Result<DB::Arguments>
where
    DB: Database,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
    for<'q> &'q str: Encode<'q, DB> + Type<DB>,
{
    let mut arguments = DB::Arguments::default();
    for value in values {
        let added = match *value {
            Value::Number(number) => arguments.add(number),
            Value::Text(text) => arguments.add(text),
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
