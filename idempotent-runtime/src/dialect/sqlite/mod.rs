//! SQLite: the write lock is the claim.
//!
//! `BEGIN IMMEDIATE` takes the write lock before anything is read, so no other claim can be in
//! between (a deferred transaction that upgrades fails with `SQLITE_BUSY_SNAPSHOT` at once,
//! whatever `busy_timeout` says). A transactional job therefore needs no row for its claim: one
//! `INSERT` of the finished row, and the primary key has the last word.
//!
//! - [`claim`]: claims of transactional jobs, the mark by which an escape shows, completion.
//! - [`lease`]: leases. [`steps`]: recovery points.
//! - [`upkeep`]: doubt, resolving and purging. [`operators`]: what operators read.
//! - [`schema`]: installing and checking the tables.
//! - [`fault`]: what errors mean.
//! - [`unique`]: which constraint was violated.

/// The database's clock. (On SQLite that is the clock of the machine.)
macro_rules! now {
    () => {
        "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"
    };
}

mod claim;
mod fault;
mod lease;
mod operators;
mod schema;
mod steps;
mod unique;
mod upkeep;

use std::error::Error as StdError;
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{SqlSafeStr, SqlStr, Sqlite};

use super::{Backend, Begin, Dialect, Fault, LedgerConnection, On, Violated};
use crate::error::Error;
use crate::ledger::record::{
    Attempt, Claim, Claimed, Finish, Finished, Holder, Record, Standing, Step,
};
use crate::site::Unique;

pub use schema::SQLITE_SCHEMA;

impl Backend for Sqlite {}

impl LedgerConnection for SqliteConnection {
    type Backend = Sqlite;
}

impl Dialect for Sqlite {
    type Token = ();

    const SCHEMA_CONSTANT: &'static str = "idempotent_runtime::SQLITE_SCHEMA";
    const ONE_WRITER: bool = true;

    fn begin(_: &Begin) -> SqlStr {
        "BEGIN IMMEDIATE; SAVEPOINT idempotent_mark".into_sql_str()
    }

    fn begin_outer() -> SqlStr {
        "BEGIN IMMEDIATE".into_sql_str()
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

    async fn run_raw(conn: &mut SqliteConnection, statements: SqlStr) -> sqlx::Result<()> {
        sqlx::raw_sql(statements).execute(conn).await.map(drop)
    }

    async fn undo_body(On { conn, .. }: On<'_, Self>, _: &Claim<'_>) -> sqlx::Result<()> {
        claim::undo_body(conn).await
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
        claim::finish(conn, claim, finish).await
    }

    async fn still_ours(
        On { conn, .. }: On<'_, Self>,
        _: &Claim<'_>,
        _: Option<&()>,
    ) -> sqlx::Result<Standing> {
        claim::still_ours(conn).await
    }

    async fn lease(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
    ) -> sqlx::Result<Option<Attempt>> {
        lease::lease(conn, claim, lease).await
    }

    async fn take_over(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
        seen: i64,
    ) -> sqlx::Result<Option<Attempt>> {
        lease::take_over(conn, claim, lease, seen).await
    }

    async fn renew(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        lease: Duration,
    ) -> sqlx::Result<bool> {
        lease::renew(conn, key, holder, lease).await
    }

    async fn release(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        why: &str,
    ) -> sqlx::Result<bool> {
        lease::release(conn, key, holder, why).await
    }

    async fn discard(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
    ) -> sqlx::Result<bool> {
        lease::discard(conn, key, holder).await
    }

    async fn finish_lease(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        finish: &Finish<'_>,
    ) -> sqlx::Result<Finished> {
        lease::finish_lease(conn, key, holder, finish).await
    }

    async fn steps(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Vec<Step>> {
        steps::steps(conn, key).await
    }

    async fn record_step(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        steps::record_step(conn, key, holder, step).await
    }

    async fn finish_step(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        steps::finish_step(conn, key, holder, step).await
    }

    async fn doubt(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        why: &str,
    ) -> sqlx::Result<()> {
        upkeep::doubt(conn, claim, why).await
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
