//! The databases: each speaks its own SQL, and decides nothing.

mod connection;
mod fault;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
pub(crate) mod operators;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::error::Error as StdError;
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use sqlx::{Database, SqlStr};

use crate::error::Error;
use crate::ledger::record::{
    Attempt, Claim, Claimed, Finish, Finished, Holder, Record, Standing, Step,
};
use crate::site::Unique;

pub use connection::{ConnectionTo, LedgerConnection};
pub use fault::{Fault, Violated};
pub(crate) use fault::{common_fault, database_error};

/// The version of the tables that this crate works on.
pub(crate) const SCHEMA_VERSION: i32 = 1;

/// A database that can hold the ledger: [`Sqlite`](sqlx::Sqlite), [`Postgres`](sqlx::Postgres) or
/// [`MySql`](sqlx::MySql), each behind the feature of its name.
///
/// A job may be generic over it: `conn: &mut DB::Connection` with `DB: Backend`, or
/// `job: &mut Job<'_, DB>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a database that idempotent-runtime knows",
    note = "the databases are `Sqlite`, `Postgres` and `MySql`, each behind the feature of its name"
)]
pub trait Backend: Dialect {}

/// How a transaction of ours is to be opened.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "postgres"),
    allow(dead_code, reason = "only PostgreSQL has two ways to begin")
)]
pub struct Begin {
    /// Whether the body's writes may have to be undone alone (`unique`).
    pub(crate) mark: bool,
}

type Conn<DB> = <DB as Database>::Connection;

#[doc(hidden)]
/// A connection, and how statements are sent on it.
pub struct On<'a, DB: Database> {
    pub(crate) conn: &'a mut DB::Connection,
    /// Each transaction may have another session of the server.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(dead_code, reason = "an option of PostgreSQL's stores")
    )]
    pub(crate) pooled: bool,
}

#[doc(hidden)]
/// The statements of the protocol, one method each. Every method is one decision of the ledger
/// carried out; `false` and `None` say that no row met the condition.
pub trait Dialect:
    Database<Connection: LedgerConnection<Backend = Self>>
    + operators::OperatorReads
    + Debug
    + sealed::Sealed
{
    /// What the claim of a transactional job must show again to complete.
    type Token: Debug + Send + Sync + 'static;

    /// The SQL of the tables, for messages.
    const SCHEMA_CONSTANT: &'static str;

    /// Whether an open write transaction keeps every other writer out of the whole database.
    const ONE_WRITER: bool;

    /// Whether `CREATE TABLE` commits by itself, so that a migration cannot be one transaction.
    const DDL_COMMITS: bool = false;

    /// Whether sqlx can go on with a connection on which a statement was cut off. It cannot on MySQL: a
    /// cut while a statement is prepared, and a rollback queued after it, leave it waiting for a packet
    /// that never comes.
    const CUTS_CLEANLY: bool = true;

    /// Whether a transaction that gives way is gone as a whole, savepoints and all: then nothing is
    /// sent after it, for a statement would run by itself, and hide what happened.
    const GIVING_WAY_ENDS_ALL: bool = false;

    /// Opens a transaction for a job, marked so that an escape of the body shows.
    fn begin(how: &Begin) -> SqlStr;

    /// Opens a transaction of the caller's, at the isolation that jobs need to join it.
    fn begin_outer() -> SqlStr;

    /// Installs or upgrades the tables, safe against other processes doing the same. Called within a
    /// transaction, unless [`DDL_COMMITS`](Self::DDL_COMMITS).
    fn migrate(conn: On<'_, Self>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Checks that the tables are there, of the right version, and kept as the promises need.
    fn inspect(conn: On<'_, Self>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Reads a key's row.
    fn read(
        conn: On<'_, Self>,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<Option<Record>>> + Send;

    /// Claims a key within the open transaction; waits for another claim of it where that is how
    /// the database works.
    fn claim(
        conn: On<'_, Self>,
        claim: &Claim<'_>,
    ) -> impl Future<Output = sqlx::Result<Claimed<Self::Token>>> + Send;

    /// Puts down a row that a claim of this key then only has to change, after a claim that had to
    /// give way; autocommitted. A reserved row is not there for anybody but such claims.
    fn reserve(_: On<'_, Self>, _: &Claim<'_>) -> impl Future<Output = sqlx::Result<()>> + Send {
        std::future::ready(Ok(()))
    }

    /// Runs statements that return nothing.
    fn run_raw(
        conn: &mut Conn<Self>,
        statements: SqlStr,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Whether a transaction is open that sqlx does not know of, as far as the database tells: a
    /// job's own would commit it.
    fn in_raw_transaction(_: On<'_, Self>) -> impl Future<Output = sqlx::Result<bool>> + Send {
        std::future::ready(Ok(false))
    }

    /// Undoes what the body wrote; the claim may go with it.
    fn undo_body(
        conn: On<'_, Self>,
        claim: &Claim<'_>,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Lets deferred constraints speak now, before the commit.
    fn check_deferred(conn: On<'_, Self>) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Records the result within the open transaction, as its last statement.
    fn finish(
        conn: On<'_, Self>,
        claim: &Claim<'_>,
        token: &Self::Token,
        finish: &Finish<'_>,
    ) -> impl Future<Output = sqlx::Result<Finished>> + Send;

    /// What the transaction that a failed body leaves has become, as far as the database can tell.
    /// The body's writes may be undone by it. A leased job's completion
    /// transaction has no token, and is marked.
    fn still_ours(
        conn: On<'_, Self>,
        claim: &Claim<'_>,
        token: Option<&Self::Token>,
    ) -> impl Future<Output = sqlx::Result<Standing>> + Send;

    /// Claims a fresh key with a lease, on its own.
    fn lease(
        conn: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
    ) -> impl Future<Output = sqlx::Result<Option<Attempt>>> + Send;

    /// Takes over a key whose lease has ended, if its fence is still `seen`.
    fn take_over(
        conn: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
        seen: i64,
    ) -> impl Future<Output = sqlx::Result<Option<Attempt>>> + Send;

    /// Extends the lease.
    fn renew(
        conn: On<'_, Self>,
        key: &str,
        holder: &Holder,
        lease: Duration,
    ) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Ends the lease and keeps the row: the next attempt may take it over at once.
    fn release(
        conn: On<'_, Self>,
        key: &str,
        holder: &Holder,
        why: &str,
    ) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Forgets a claim of ours that led to nothing.
    fn discard(
        conn: On<'_, Self>,
        key: &str,
        holder: &Holder,
    ) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Records a leased job's result within the open transaction, as its last statement.
    fn finish_lease(
        conn: On<'_, Self>,
        key: &str,
        holder: &Holder,
        finish: &Finish<'_>,
    ) -> impl Future<Output = sqlx::Result<Finished>> + Send;

    /// The steps that a key's attempts have recorded, in their order.
    fn steps(conn: On<'_, Self>, key: &str)
    -> impl Future<Output = sqlx::Result<Vec<Step>>> + Send;

    /// Records a step on its own, if the key is still held.
    fn record_step(
        conn: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> impl Future<Output = sqlx::Result<Finished>> + Send;

    /// Records a step within the open transaction, as its last statement.
    fn finish_step(
        conn: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> impl Future<Output = sqlx::Result<Finished>> + Send;

    /// Records that only a person can tell whether the key's work was done.
    fn doubt(
        conn: On<'_, Self>,
        claim: &Claim<'_>,
        why: &str,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Completes an unfinished key with a result that a person gives.
    fn resolve_done(
        conn: On<'_, Self>,
        key: &str,
        result: &[u8],
    ) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Forgets an unfinished key that no attempt holds, and keeps its steps: the next attempt is the
    /// first one, and replays them.
    fn resolve_again(
        conn: On<'_, Self>,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Forgets a key and its steps, unless an attempt holds it.
    fn resolve_forget(
        conn: On<'_, Self>,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Deletes at most `limit` finished keys whose retention has passed, with their steps.
    fn purge(conn: On<'_, Self>, limit: u32) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// Completes what a violation reports, so that it can be told by its name or by its columns,
    /// whichever the attribute uses.
    fn describe(
        conn: On<'_, Self>,
        violated: Violated,
        wanted: &Unique,
    ) -> impl Future<Output = sqlx::Result<Violated>> + Send;

    /// What an error means.
    fn fault(error: &sqlx::Error) -> Fault;

    /// The unique constraint that one link of an error's chain reports as violated.
    fn violated(link: &(dyn StdError + 'static)) -> Option<Violated>;
}

/// Milliseconds, as SQL takes them; a duration too long for it is as good as its maximum.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

mod sealed {
    pub trait Sealed {}
    #[cfg(feature = "sqlite")]
    impl Sealed for sqlx::Sqlite {}
    #[cfg(feature = "sqlite")]
    impl Sealed for sqlx::SqliteConnection {}
    #[cfg(feature = "postgres")]
    impl Sealed for sqlx::Postgres {}
    #[cfg(feature = "postgres")]
    impl Sealed for sqlx::PgConnection {}
    #[cfg(feature = "mysql")]
    impl Sealed for sqlx::MySql {}
    #[cfg(feature = "mysql")]
    impl Sealed for sqlx::MySqlConnection {}
}
