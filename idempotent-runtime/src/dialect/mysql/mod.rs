//! MySQL and MariaDB: a row of the open transaction is the claim.
//!
//! Tested on MariaDB 10.11. Written for MySQL 8 too, and not run there: the statements keep to what
//! both speak, but for comments that only MariaDB executes (`/*M! … */`).
//!
//! - [`sql`]: the clock, durations, a row.
//! - [`claim`]: claims of both kinds, and reserved rows.
//! - [`mark`]: the savepoints by which an escape of the body shows.
//! - [`finish`]: completion, leases, doubt.
//! - [`step`]: recovery points.
//! - [`upkeep`]: resolving and purging. [`operators`]: what operators read.
//! - [`schema`]: installing and checking the tables.
//! - [`fault`]: what errors mean.
//! - [`unique`]: which constraint was violated.

mod claim;
mod fault;
mod finish;
mod mark;
mod operators;
mod schema;
mod sql;
mod step;
mod unique;
mod upkeep;

use std::error::Error as StdError;
use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{MySql, SqlSafeStr, SqlStr};

use super::{Backend, Begin, Dialect, Fault, LedgerConnection, On, Violated};
use crate::error::Error;
use crate::ledger::record::{
    Attempt, Claim, Claimed, Finish, Finished, Holder, Record, Standing, Step,
};
use crate::site::Unique;

pub use schema::MYSQL_SCHEMA;

/// Begins at READ COMMITTED whatever the session's default. `SET TRANSACTION` holds for the next
/// transaction only. It is refused inside one: a transaction that the caller opened by raw SQL is not
/// committed by our START.
///
/// On MariaDB a block makes one statement of all of them, for each is answered by a packet of its
/// own: four wake-ups of the client, for one.
macro_rules! begin {
    ($mark:literal) => {
        concat!(
            "/*M!100300 BEGIN NOT ATOMIC */ SET @idempotent_undone = NULL; \
             SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION",
            $mark,
            " /*M!100300 ; END */"
        )
    };
}

impl Backend for MySql {}

impl LedgerConnection for MySqlConnection {
    type Backend = MySql;
}

impl Dialect for MySql {
    type Token = ();

    const SCHEMA_CONSTANT: &'static str = "idempotent_runtime::MYSQL_SCHEMA";
    const ONE_WRITER: bool = false;
    const DDL_COMMITS: bool = true;
    const CUTS_CLEANLY: bool = false;
    const GIVING_WAY_ENDS_ALL: bool = true;

    fn begin(_: &Begin) -> SqlStr {
        begin!("; SAVEPOINT idempotent_mark").into_sql_str()
    }

    fn begin_outer() -> SqlStr {
        begin!("").into_sql_str()
    }

    async fn migrate(On { conn, .. }: On<'_, Self>) -> Result<(), Error> {
        schema::migrate(conn).await
    }

    async fn inspect(On { conn, .. }: On<'_, Self>) -> Result<(), Error> {
        schema::inspect(conn).await
    }

    async fn read(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Option<Record>> {
        claim::read(conn, key).await
    }

    async fn claim(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
    ) -> sqlx::Result<Claimed<Self::Token>> {
        claim::claim(conn, claim).await
    }

    async fn reserve(On { conn, .. }: On<'_, Self>, claim: &Claim<'_>) -> sqlx::Result<()> {
        claim::reserve(conn, claim).await
    }

    async fn run_raw(conn: &mut MySqlConnection, statements: SqlStr) -> sqlx::Result<()> {
        sqlx::raw_sql(statements).execute(conn).await.map(drop)
    }

    async fn undo_body(On { conn, .. }: On<'_, Self>, claim: &Claim<'_>) -> sqlx::Result<()> {
        mark::go_back(conn, claim.joined).await
    }

    async fn check_deferred(_: On<'_, Self>) -> sqlx::Result<()> {
        // Unique constraints are never deferred here.
        Ok(())
    }

    async fn finish(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        (): &(),
        finish: &Finish<'_>,
    ) -> sqlx::Result<Finished> {
        finish::finish(conn, claim, finish).await
    }

    async fn still_ours(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        _: Option<&()>,
    ) -> sqlx::Result<Standing> {
        mark::standing(conn, claim.joined).await
    }

    async fn lease(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
    ) -> sqlx::Result<Option<Attempt>> {
        claim::lease(conn, claim, lease).await
    }

    async fn take_over(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
        seen: i64,
    ) -> sqlx::Result<Option<Attempt>> {
        claim::take_over(conn, claim, lease, seen).await
    }

    async fn renew(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        lease: Duration,
    ) -> sqlx::Result<bool> {
        finish::renew(conn, key, holder, lease).await
    }

    async fn release(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        why: &str,
    ) -> sqlx::Result<bool> {
        finish::release(conn, key, holder, why).await
    }

    async fn discard(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
    ) -> sqlx::Result<bool> {
        finish::discard(conn, key, holder).await
    }

    async fn finish_lease(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        finish: &Finish<'_>,
    ) -> sqlx::Result<Finished> {
        finish::finish_lease(conn, key, holder, finish).await
    }

    async fn steps(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Vec<Step>> {
        step::steps(conn, key).await
    }

    async fn record_step(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        step::record(conn, key, holder, step).await
    }

    async fn finish_step(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        step::finish(conn, key, holder, step).await
    }

    async fn doubt(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        why: &str,
    ) -> sqlx::Result<()> {
        finish::doubt(conn, claim, why).await
    }

    async fn resolve_done(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        result: &[u8],
    ) -> sqlx::Result<bool> {
        upkeep::resolve_done(conn, key, result).await
    }

    async fn resolve_again(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<bool> {
        upkeep::resolve_again(conn, key).await
    }

    async fn resolve_forget(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<bool> {
        upkeep::resolve_forget(conn, key).await
    }

    async fn purge(On { conn, .. }: On<'_, Self>, limit: u32) -> sqlx::Result<u64> {
        upkeep::purge(conn, limit).await
    }

    async fn describe(
        On { conn, .. }: On<'_, Self>,
        violated: Violated,
        wanted: &Unique,
    ) -> sqlx::Result<Violated> {
        unique::describe(conn, violated, wanted).await
    }

    fn fault(error: &sqlx::Error) -> Fault {
        fault::fault(error)
    }

    fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
        unique::violated(link)
    }
}
