//! What a job costs PostgreSQL: statements, round trips, flushes of the log to the disk and bytes in
//! it, held to what they are now, so that they cannot creep up.
//!
//! A server of its own, with nobody else on it, counts statements (`pg_stat_statements`) and its log
//! (`pg_stat_wal`); a proxy counts the round trips.

use std::future::Future;

use idempotent_runtime::{Error, Job, Outcome, PgStore, Postgres, Store, idempotent};
use idempotent_tests::proof::server::Server;
use idempotent_tests::runner::Case;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection, PgPool};

use super::POSTGRES;
use super::round_trips::RoundTrips;

/// Jobs of a run, and those before it that prepare statements, and tell that replays are likely.
const JOBS: i64 = 200;
const WARM: i64 = 8;

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Idempotent(#[from] Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

async fn paid(conn: &mut PgConnection, order_id: i64) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM paid WHERE order_id = $1)")
        .bind(order_id)
        .fetch_one(conn)
        .await
}

async fn pay(conn: &mut PgConnection, order_id: i64) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO paid (order_id) VALUES ($1)")
        .bind(order_id)
        .execute(conn)
        .await
        .map(drop)
}

#[idempotent(key = "order_<order_id>", guard = paid)]
async fn transactional(conn: &mut PgConnection, order_id: i64) -> Result<i64, Failure> {
    pay(conn, order_id).await?;
    Ok(order_id)
}

#[idempotent(key = "leased_<order_id>", guard = paid)]
async fn leased(job: &mut Job<'_, Postgres>, order_id: i64) -> Result<i64, Failure> {
    pay(job.tx().await?, order_id).await?;
    Ok(order_id)
}

/// The body alone, as it would be without a ledger.
async fn body_alone(pool: &PgPool, order_id: i64) -> sqlx::Result<()> {
    let mut tx = pool.begin().await?;
    pay(&mut tx, order_id).await?;
    tx.commit().await
}

/// A server with nobody else on it, and a pool of one connection that goes through the counter.
struct Measured {
    server: Server,
    trips: RoundTrips,
    /// In another database, whose statements do not count.
    observer: PgConnection,
}

/// What one job costs, on average over a run.
#[derive(Debug)]
struct Cost {
    statements: f64,
    round_trips: f64,
    flushes: f64,
    bytes: f64,
}

impl Measured {
    async fn new() -> Self {
        let server = Server::postgres_with(&[
            "shared_preload_libraries=pg_stat_statements",
            "pg_stat_statements.track=top",
            "autovacuum=off",
            // A page's first change after a checkpoint is logged whole, whoever makes it.
            "full_page_writes=off",
            // The log's own writer flushes too, on its own time.
            "wal_writer_delay=10s",
        ])
        .await
        .unwrap();
        let observers = format!("postgres://proof@127.0.0.1:{}/template1", server.port());
        // On a connection that ends: a server process tells what it wrote when it likes.
        let mut setup = PgConnection::connect(&observers).await.unwrap();
        sqlx::raw_sql("CREATE EXTENSION pg_stat_statements")
            .execute(&mut setup)
            .await
            .unwrap();
        setup.close().await.unwrap();
        let observer = PgConnection::connect(&observers).await.unwrap();
        let trips = RoundTrips::before(server.port()).await.unwrap();
        let mut measured = Self {
            server,
            trips,
            observer,
        };
        let pool = measured.pool().await;
        Store::new(pool.clone()).migrate().await.unwrap();
        sqlx::raw_sql("CREATE TABLE paid (order_id bigint PRIMARY KEY)")
            .execute(&pool)
            .await
            .unwrap();
        pool.close().await;
        measured.wait_for_silence().await;
        measured
    }

    async fn pool(&self) -> PgPool {
        PgPoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            .connect(&format!(
                "{}?sslmode=disable",
                self.server.url(self.trips.port())
            ))
            .await
            .unwrap()
    }

    /// Runs `job` for each order from `first` on.
    async fn run<F: Future<Output = ()>>(
        &mut self,
        first: i64,
        job: impl Fn(PgStore, i64) -> F,
    ) -> Cost {
        let pool = self.pool().await;
        let store = Store::new(pool.clone());
        let begin = first + WARM;
        for order in first..begin {
            job(store.clone(), order).await;
        }
        let (before, trips) = (self.read().await, self.trips.statements());
        for order in begin..begin + JOBS {
            job(store.clone(), order).await;
        }
        let trips = self.trips.statements() - trips;
        // A server process tells what it did when it ends, at the latest.
        pool.close().await;
        self.wait_for_silence().await;
        let after = self.read().await;
        #[allow(clippy::cast_precision_loss, reason = "small counts")]
        let each = |total: i64| total as f64 / JOBS as f64;
        Cost {
            statements: each(after.0 - before.0),
            round_trips: each(trips),
            flushes: each(after.1 - before.1),
            bytes: each(after.2 - before.2),
        }
    }

    /// Statements, flushes and bytes so far.
    async fn read(&mut self) -> (i64, i64, i64) {
        let statements: i64 = sqlx::query_scalar(
            "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements s \
             JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = 'postgres'",
        )
        .fetch_one(&mut self.observer)
        .await
        .unwrap();
        let (flushes, bytes): (i64, i64) =
            sqlx::query_as("SELECT wal_sync, wal_bytes::bigint FROM pg_stat_wal")
                .fetch_one(&mut self.observer)
                .await
                .unwrap();
        (statements, flushes, bytes)
    }

    async fn wait_for_silence(&mut self) {
        loop {
            let others: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM pg_stat_activity \
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
            )
            .fetch_one(&mut self.observer)
            .await
            .unwrap();
            if others == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

impl Cost {
    /// Statements and round trips are exact. The log has a few entries of the server's own, and of
    /// the jobs that prepared the run.
    fn is(&self, name: &str, statements: f64, round_trips: f64, flushes: f64, bytes: f64) {
        println!(
            "{name}: {:.2} statements, {:.2} round trips, {:.2} flushes, {:.0} bytes of log",
            self.statements, self.round_trips, self.flushes, self.bytes
        );
        assert_eq!(self.statements, statements, "{name}: {self:?}");
        assert_eq!(self.round_trips, round_trips, "{name}: {self:?}");
        assert!(self.flushes < flushes + 0.2, "{name}: {self:?}");
        assert!(self.bytes <= bytes, "{name}: {self:?}");
    }
}

async fn pays_transactional(store: PgStore, order_id: i64) {
    assert!(matches!(
        transactional(&store, order_id).await,
        Ok(Outcome::Performed(_))
    ));
}

async fn pays_leased(store: PgStore, order_id: i64) {
    assert!(matches!(
        leased(&store, order_id).await,
        Ok(Outcome::Performed(_))
    ));
}

async fn a_job_costs_what_it_did() {
    let mut server = Measured::new().await;
    // BEGIN, the body, COMMIT.
    let alone = async |store: PgStore, n| body_alone(store.pool(), n).await.unwrap();
    server
        .run(1, alone)
        .await
        .is("the body alone", 3.0, 3.0, 1.0, 250.0);
    // BEGIN, claim, guard, body, guard, completion, COMMIT: no flush more than the body's own.
    server
        .run(1_000, pays_transactional)
        .await
        .is("a transactional job", 7.0, 7.0, 1.0, 650.0);
    // The row is read before anything is begun, where replays are likely.
    let replays = async |store: PgStore, n| {
        let again = transactional(&store, n).await;
        assert!(matches!(again, Ok(Outcome::Replayed(_))));
    };
    server
        .run(1_000, replays)
        .await
        .is("… its replay", 1.0, 1.0, 0.0, 5.0);
    // BEGIN, claim, guard, ROLLBACK; orders of the body alone.
    let skips = async |store: PgStore, n| {
        let skipped = transactional(&store, n).await;
        assert!(matches!(skipped, Ok(Outcome::Skipped(_))));
    };
    server
        .run(1, skips)
        .await
        .is("… where the guard skips", 4.0, 4.0, 0.0, 400.0);
    // Claim, guard, BEGIN with its mark, body, guard, completion, COMMIT.
    server
        .run(2_000, pays_leased)
        .await
        .is("a leased job", 9.0, 7.0, 2.0, 720.0);
    let replays = async |store: PgStore, n| {
        let again = leased(&store, n).await;
        assert!(matches!(again, Ok(Outcome::Replayed(_))));
    };
    server
        .run(2_000, replays)
        .await
        .is("… its replay", 1.0, 1.0, 0.0, 5.0);
    server.server.stop().await.unwrap();
}

pub fn cases() -> Vec<Case> {
    idempotent_tests::cases!(POSTGRES => a_job_costs_what_it_did)
}
