//! What the lab needs of a database, beside the ledger's own statements.

#[cfg(feature = "sqlite")]
mod sqlite;

use std::future::Future;
use std::time::Duration;

use sqlx::Pool;

use super::statements::Statements;
use super::turns::Turns;
use crate::dialect::Backend;

/// A database that the lab can make worlds on: each [`Backend`], behind the feature of its name.
pub trait LabDatabase: Bench {}

/// The lab's own business with a database.
#[doc(hidden)]
pub trait Bench: Backend {
    /// Where its databases are made.
    type Place;

    /// One of them; dropping it takes the database away, where nobody has to be asked.
    type Made;

    /// Ends every lease, as if its time had passed.
    const END_LEASES: &'static str;

    /// The ledger's keys as text, one a row.
    const KEYS: &'static str;

    /// Whether sqlx logs a statement in the task that polls it.
    const LOGS_IN_TASK: bool;

    /// Makes an empty database.
    fn make(place: &Self::Place) -> impl Future<Output = sqlx::Result<Self::Made>>;

    /// Takes it away.
    fn unmake(made: Self::Made) -> impl Future<Output = sqlx::Result<()>>;

    /// Opens a pool of so many connections on it, each of which waits so long for a lock. What they
    /// run is heard, and threads of theirs take turns with the attempts.
    fn open(
        made: &Self::Made,
        connections: u32,
        lock_wait: Duration,
        process: Option<(&Statements, &Turns)>,
    ) -> impl Future<Output = sqlx::Result<Pool<Self>>>;

    /// The tables and their columns, in the order of the catalogue; without what the database
    /// itself keeps.
    fn columns(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<(String, String)>>>;

    /// The query for a table's rows, each column as a literal: `NULL`, `42`, `'42'`. Without a
    /// column it still tells how many rows there are.
    fn rows_of(table: &str, columns: &[String]) -> String;

    /// Runs a query whose columns are all text.
    fn fetch(
        pool: &Pool<Self>,
        sql: String,
    ) -> impl Future<Output = sqlx::Result<Vec<Vec<String>>>>;

    /// Runs a statement, and gives the number of rows that it changed; `None` where somebody holds a
    /// lock in its way.
    fn execute(
        pool: &Pool<Self>,
        sql: &'static str,
    ) -> impl Future<Output = sqlx::Result<Option<u64>>>;
}

/// A name in double quotes, as standard SQL has it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `SELECT …columns… FROM table`.
fn select(columns: impl Iterator<Item = String>, table: &str) -> String {
    let columns: Vec<String> = columns.collect();
    match &*columns {
        [] => format!("SELECT '' FROM {table}"),
        columns => format!("SELECT {} FROM {table}", columns.join(", ")),
    }
}
