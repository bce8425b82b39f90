//! What is asked of a database, and read from it at the end.

use std::time::Duration;

use idempotent_runtime::Store;
use sqlx::Pool;

use super::Result;
use super::checker::{Attempt, Row};
use super::jobs::{JobError, Kind, Run};
use crate::world::TestDatabase;

/// What every database does the same way, in its own words.
macro_rules! in_its_words {
    ($module:ident, $ledger:literal) => {
        async fn run_job(
            store: &Store<Self>,
            kind: Kind,
            n: u64,
            run: &Run,
        ) -> Result<(&'static str, String), JobError> {
            crate::proof::jobs::$module::run(store, kind, n, run).await
        }

        async fn probe(pool: &Pool<Self>, connections: u32, name: &str) -> sqlx::Result<()> {
            let mut held = Vec::new();
            for _ in 0..connections {
                held.push(pool.acquire().await?);
            }
            for conn in &mut held {
                sqlx::query(crate::$module::sql("INSERT INTO probes (k) VALUES (?)"))
                    .bind(name)
                    .execute(&mut **conn)
                    .await?;
            }
            Ok(())
        }

        async fn end_lease(pool: &Pool<Self>, key: &str) -> sqlx::Result<()> {
            Self::change(pool, Self::END_LEASE, key).await.map(drop)
        }

        async fn mark(pool: &Pool<Self>, key: &str) -> sqlx::Result<()> {
            Self::change(pool, "INSERT INTO marks (k) VALUES (?)", key).await?;
            Self::change(pool, "INSERT INTO claims (k) VALUES (?)", key)
                .await
                .map(drop)
        }

        async fn probed(pool: &Pool<Self>, name: &str) -> sqlx::Result<i64> {
            Self::number(pool, "SELECT count(*) FROM probes WHERE k = ?", name).await
        }

        async fn left(pool: &Pool<Self>) -> sqlx::Result<Left> {
            let rows: Vec<(String, i64, i64, Option<Vec<u8>>)> =
                sqlx::query_as(crate::$module::sql($ledger))
                    .fetch_all(pool)
                    .await?;
            let pairs = crate::$module::sql("SELECT k, run FROM effects");
            let effects = sqlx::query_as(pairs).fetch_all(pool).await?;
            let runs = crate::$module::sql("SELECT k, run, epoch, fence FROM runs");
            let attempts: Vec<(String, String, i64, i64)> =
                sqlx::query_as(runs).fetch_all(pool).await?;
            let marks = crate::$module::sql("SELECT k FROM marks");
            let marks = sqlx::query_scalar(marks).fetch_all(pool).await?;
            Ok(Left {
                rows: rows.into_iter().map(Row::from).collect(),
                effects,
                attempts: attempts.into_iter().map(Attempt::from).collect(),
                marks,
            })
        }
    };
}

mod mysql;
mod postgres;
mod sqlite;

/// What is left in a database.
#[derive(Debug, Clone, Default)]
pub struct Left {
    /// The ledger.
    pub rows: Vec<Row>,
    /// The effects: of which key, by which attempt.
    pub effects: Vec<(String, String)>,
    /// The attempts of leased jobs that began.
    pub attempts: Vec<Attempt>,
    /// The marks that guards read.
    pub marks: Vec<String>,
}

/// How a claim is refused, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has to give way, as in a deadlock.
    GivesWay,
    /// Another one was there, which is gone when it is looked for.
    Gone,
}

impl Refusal {
    fn name(self) -> &'static str {
        match self {
            Self::GivesWay => "gives way",
            Self::Gone => "gone",
        }
    }
}

/// A database that the proof runs on.
pub trait ProofDatabase: TestDatabase {
    /// What it is called on the command line.
    const CALLED: &'static str;

    /// Tables of the jobs.
    const TABLES: &'static str;

    /// Has the ledger refuse the next claim of the key in `refusals`, in the way that stands there.
    /// Empty where a claim is one write lock, which refuses nobody.
    const REFUSALS: &'static str;

    /// Whether a process that stands still in a transaction can be made to lose it.
    const ENDS_IDLE: bool;

    /// A worker's pool. `idle_limit`: the server ends transactions that are idle for a second.
    fn open(
        url: &str,
        connections: u32,
        idle_limit: bool,
    ) -> impl Future<Output = sqlx::Result<Pool<Self>>> + Send;

    /// A pool to look from, which waits for no lock for long.
    fn look_from(url: &str) -> impl Future<Output = sqlx::Result<Pool<Self>>> + Send;

    /// Runs a job.
    fn run_job(
        store: &Store<Self>,
        kind: Kind,
        n: u64,
        run: &Run,
    ) -> impl Future<Output = Result<(&'static str, String), JobError>> + Send;

    /// Writes once on each of so many connections.
    fn probe(
        pool: &Pool<Self>,
        connections: u32,
        name: &str,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Ends the lease of a key, if it has one; fails where the row is locked.
    fn end_lease(pool: &Pool<Self>, key: &str) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Has the next claim of a key refused, as another call's claim can have it.
    fn refuse(
        pool: &Pool<Self>,
        key: &str,
        how: Refusal,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Notes a key as marked, and as claimed, before its job runs.
    fn mark(pool: &Pool<Self>, key: &str) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// How many writes of a probe have stayed.
    fn probed(pool: &Pool<Self>, name: &str) -> impl Future<Output = sqlx::Result<i64>> + Send;

    /// How many sessions are in a transaction, or hold a lock.
    fn sessions_busy(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<i64>> + Send;

    /// What is left.
    fn left(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Left>> + Send;
}

/// Waits until no session is in a transaction; how many still are after a while.
pub async fn at_rest<DB: ProofDatabase>(pool: &Pool<DB>) -> i64 {
    let mut count = i64::MAX;
    for _ in 0..100 {
        count = DB::sessions_busy(pool).await.unwrap_or(i64::MAX);
        if count == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    count
}
