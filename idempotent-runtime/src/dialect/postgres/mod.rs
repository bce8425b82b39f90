//! PostgreSQL: the claim is an inserted row, which every other claim of the key waits on.
//!
//! - `transaction`: how transactions begin, and how an escape from one shows.
//! - `on`: how statements are sent.
//! - `claim`: transactional jobs: the claim, its wait, and the completion.
//! - `lease`: leased jobs. `steps`: their recovery points.
//! - `upkeep`: reading, resolving and forgetting keys. `operators`: what operators read.
//! - `schema`: the tables, and whether this server can hold them.
//! - `constraint`: unique constraints by name and by columns.
//! - `fault`: what an error code means.
//!
//! Time is `clock_timestamp()` throughout: `now()` stands still in a transaction. Every statement
//! that can wait for another session is written for READ COMMITTED: there, a row that was waited for
//! is seen in its latest version.

mod claim;
mod constraint;
mod fault;
mod lease;
mod on;
mod operators;
mod schema;
mod steps;
mod transaction;
mod upkeep;

use std::error::Error as StdError;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::PgInterval;
use sqlx::{Postgres, SqlStr};

use super::{Backend, Begin, Dialect, Fault, LedgerConnection, Violated};
use crate::error::Error;
use crate::ledger::record::{
    Attempt, Claim, Claimed, Finish, Finished, Holder, Record, Standing, Step,
};
use crate::site::Unique;

type On<'a> = super::On<'a, Postgres>;

pub use schema::POSTGRES_SCHEMA;

impl Backend for Postgres {}

impl LedgerConnection for PgConnection {
    type Backend = Postgres;
}

/// The transaction that holds a claim: it is another one after a raw COMMIT.
#[derive(Debug)]
pub enum TransactionId {
    /// The one that has inserted the row, as the row itself tells (`xmin`).
    OfTheRow,
    /// The one of this number: the row has that of a savepoint.
    Number(String),
}

impl Dialect for Postgres {
    type Token = TransactionId;

    const SCHEMA_CONSTANT: &'static str = "idempotent_runtime::POSTGRES_SCHEMA";
    const ONE_WRITER: bool = false;

    fn begin(how: &Begin) -> SqlStr {
        transaction::begin(how.mark)
    }

    fn begin_outer() -> SqlStr {
        transaction::begin(false)
    }

    async fn migrate(on: On<'_>) -> Result<(), Error> {
        schema::migrate(on).await
    }

    async fn inspect(on: On<'_>) -> Result<(), Error> {
        schema::inspect(on).await
    }

    async fn read(on: On<'_>, key: &str) -> sqlx::Result<Option<Record>> {
        upkeep::read(on, key).await
    }

    async fn claim(on: On<'_>, claim: &Claim<'_>) -> sqlx::Result<Claimed<TransactionId>> {
        claim::claim(on, claim).await
    }

    async fn run_raw(conn: &mut PgConnection, statements: SqlStr) -> sqlx::Result<()> {
        sqlx::raw_sql(statements).execute(conn).await.map(drop)
    }

    async fn in_raw_transaction(on: On<'_>) -> sqlx::Result<bool> {
        transaction::is_raw(on).await
    }

    async fn undo_body(on: On<'_>, claim: &Claim<'_>) -> sqlx::Result<()> {
        transaction::back_to_mark(on, claim.joined).await
    }

    async fn check_deferred(on: On<'_>) -> sqlx::Result<()> {
        transaction::check_deferred(on).await
    }

    async fn finish(
        on: On<'_>,
        claim: &Claim<'_>,
        token: &TransactionId,
        finish: &Finish<'_>,
    ) -> sqlx::Result<Finished> {
        claim::finish(on, claim, token, finish).await
    }

    async fn still_ours(
        on: On<'_>,
        claim: &Claim<'_>,
        token: Option<&TransactionId>,
    ) -> sqlx::Result<Standing> {
        transaction::still_ours(on, claim, token).await
    }

    async fn lease(
        on: On<'_>,
        claim: &Claim<'_>,
        lease: Duration,
    ) -> sqlx::Result<Option<Attempt>> {
        lease::lease(on, claim, lease).await
    }

    async fn take_over(
        on: On<'_>,
        claim: &Claim<'_>,
        lease: Duration,
        seen: i64,
    ) -> sqlx::Result<Option<Attempt>> {
        lease::take_over(on, claim, lease, seen).await
    }

    async fn renew(on: On<'_>, key: &str, holder: &Holder, lease: Duration) -> sqlx::Result<bool> {
        lease::renew(on, key, holder, lease).await
    }

    async fn release(on: On<'_>, key: &str, holder: &Holder, why: &str) -> sqlx::Result<bool> {
        lease::release(on, key, holder, why).await
    }

    async fn discard(on: On<'_>, key: &str, holder: &Holder) -> sqlx::Result<bool> {
        lease::discard(on, key, holder).await
    }

    async fn finish_lease(
        on: On<'_>,
        key: &str,
        holder: &Holder,
        finish: &Finish<'_>,
    ) -> sqlx::Result<Finished> {
        lease::finish(on, key, holder, finish).await
    }

    async fn steps(on: On<'_>, key: &str) -> sqlx::Result<Vec<Step>> {
        steps::steps(on, key).await
    }

    async fn record_step(
        on: On<'_>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        steps::record(on, key, holder, step).await
    }

    async fn finish_step(
        on: On<'_>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        steps::finish(on, key, holder, step).await
    }

    async fn doubt(on: On<'_>, claim: &Claim<'_>, why: &str) -> sqlx::Result<()> {
        upkeep::doubt(on, claim, why).await
    }

    async fn resolve_done(on: On<'_>, key: &str, result: &[u8]) -> sqlx::Result<bool> {
        upkeep::resolve_done(on, key, result).await
    }

    async fn resolve_again(on: On<'_>, key: &str) -> sqlx::Result<bool> {
        upkeep::resolve_again(on, key).await
    }

    async fn resolve_forget(on: On<'_>, key: &str) -> sqlx::Result<bool> {
        upkeep::resolve_forget(on, key).await
    }

    async fn purge(on: On<'_>, limit: u32) -> sqlx::Result<u64> {
        upkeep::purge(on, limit).await
    }

    async fn describe(on: On<'_>, violated: Violated, wanted: &Unique) -> sqlx::Result<Violated> {
        constraint::describe(on, violated, wanted).await
    }

    fn fault(error: &sqlx::Error) -> Fault {
        fault::fault(error)
    }

    fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
        constraint::violated(link)
    }
}

/// A duration as an interval of exact length; one too long for a timestamp is a thousand years.
fn interval(duration: Duration) -> PgInterval {
    const THOUSAND_YEARS: i64 = 1000 * 365 * 86_400 * 1_000_000;
    PgInterval {
        months: 0,
        days: 0,
        microseconds: i64::try_from(duration.as_micros())
            .unwrap_or(i64::MAX)
            .min(THOUSAND_YEARS),
    }
}

/// A wait as `lock_timeout` takes it, where 0 would be no limit at all.
fn lock_timeout(wait: Duration) -> String {
    let millis = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX).max(1);
    format!("{millis}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_is_not_an_endless_wait() {
        assert_eq!(lock_timeout(Duration::ZERO), "1ms");
        assert_eq!(lock_timeout(Duration::from_micros(300)), "1ms");
        assert_eq!(lock_timeout(Duration::from_secs(5)), "5000ms");
        assert_eq!(lock_timeout(Duration::MAX), "2147483647ms");
    }

    #[test]
    fn a_long_retention_stays_a_timestamp() {
        assert_eq!(interval(Duration::from_millis(1)).microseconds, 1000);
        assert_eq!(
            interval(Duration::MAX).microseconds,
            31_536_000_000_000_000_i64
        );
    }
}
