//! What is asked of a database, and read from it at the end.

use std::time::Duration;

use idempotent_runtime::Store;
use sqlx::Pool;

use super::Result;
use super::checker::{Attempt, Row};
use super::jobs::{JobError, Kind, Run};
use crate::world::TestDatabase;

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

/// A database that the proof runs on.
pub trait ProofDatabase: TestDatabase {
    /// What it is called on the command line.
    const CALLED: &'static str;

    /// Tables of the jobs.
    const TABLES: &'static str;

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

/// What every database does the same way, in its own words.
macro_rules! in_its_words {
    ($module:ident, $ledger:literal) => {
        async fn run_job(
            store: &Store<Self>,
            kind: Kind,
            n: u64,
            run: &Run,
        ) -> Result<(&'static str, String), JobError> {
            super::jobs::$module::run(store, kind, n, run).await
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

impl ProofDatabase for sqlx::Sqlite {
    const CALLED: &'static str = "sqlite";
    const TABLES: &'static str = "
        CREATE TABLE effects (k TEXT NOT NULL, run TEXT NOT NULL);
        CREATE TABLE runs (k TEXT NOT NULL, run TEXT NOT NULL, epoch INTEGER NOT NULL, fence INTEGER
            NOT NULL);
        CREATE TABLE marks (k TEXT NOT NULL);
        CREATE TABLE probes (k TEXT NOT NULL);
        CREATE TABLE claims (k TEXT NOT NULL UNIQUE);";
    const ENDS_IDLE: bool = false;

    async fn open(url: &str, connections: u32, _: bool) -> sqlx::Result<Pool<Self>> {
        Ok(Self::pool(url, connections).await)
    }

    async fn look_from(url: &str) -> sqlx::Result<Pool<Self>> {
        use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

        let options: SqliteConnectOptions = url.parse()?;
        SqlitePoolOptions::new()
            .max_connections(2)
            .connect_with(options.busy_timeout(Duration::from_millis(100)))
            .await
    }

    async fn sessions_busy(pool: &Pool<Self>) -> sqlx::Result<i64> {
        // There is one lock; whoever holds it is in a transaction that writes.
        match sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK")
            .execute(pool)
            .await
        {
            Ok(_) => Ok(0),
            Err(_) => Ok(1),
        }
    }

    in_its_words!(
        sqlite,
        "SELECT key, status, fence, result FROM idempotent_keys"
    );
}

impl ProofDatabase for sqlx::Postgres {
    const CALLED: &'static str = "postgres";
    const TABLES: &'static str = "
        CREATE TABLE effects (k text NOT NULL, run text NOT NULL);
        CREATE TABLE runs (k text NOT NULL, run text NOT NULL, epoch bigint NOT NULL, fence bigint
            NOT NULL);
        CREATE TABLE marks (k text NOT NULL);
        CREATE TABLE probes (k text NOT NULL);
        CREATE TABLE claims (k text NOT NULL UNIQUE);";
    const ENDS_IDLE: bool = true;

    async fn open(url: &str, connections: u32, idle_limit: bool) -> sqlx::Result<Pool<Self>> {
        sqlx::postgres::PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            .after_connect(move |conn, _| {
                Box::pin(async move {
                    if idle_limit {
                        sqlx::raw_sql("SET idle_in_transaction_session_timeout = '1s'")
                            .execute(conn)
                            .await?;
                    }
                    Ok(())
                })
            })
            .connect(url)
            .await
    }

    async fn look_from(url: &str) -> sqlx::Result<Pool<Self>> {
        sqlx::postgres::PgPoolOptions::new()
            .max_connections(2)
            .after_connect(|conn, _| {
                Box::pin(async move {
                    sqlx::raw_sql("SET lock_timeout = '200ms'")
                        .execute(conn)
                        .await
                        .map(drop)
                })
            })
            .connect(url)
            .await
    }

    async fn sessions_busy(pool: &Pool<Self>) -> sqlx::Result<i64> {
        sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity a WHERE datname = current_database() \
             AND pid <> pg_backend_pid() AND (state LIKE 'idle in transaction%' OR EXISTS \
               (SELECT FROM pg_locks l WHERE l.pid = a.pid AND (l.locktype = 'advisory' \
                  OR l.locktype IN ('transactionid', 'tuple') AND l.granted)))",
        )
        .fetch_one(pool)
        .await
    }

    in_its_words!(
        postgres,
        "SELECT key, status::bigint, fence, result FROM idempotent_keys"
    );
}

impl ProofDatabase for sqlx::MySql {
    const CALLED: &'static str = "mysql";
    const TABLES: &'static str = "
        CREATE TABLE effects (k varchar(80) NOT NULL, run varchar(40) NOT NULL) ENGINE=InnoDB;
        CREATE TABLE runs (k varchar(80) NOT NULL, run varchar(40) NOT NULL, epoch bigint NOT NULL,
            fence bigint NOT NULL) ENGINE=InnoDB;
        CREATE TABLE marks (k varchar(80) NOT NULL) ENGINE=InnoDB;
        CREATE TABLE probes (k varchar(80) NOT NULL) ENGINE=InnoDB;
        CREATE TABLE claims (k varchar(80) NOT NULL UNIQUE) ENGINE=InnoDB;";
    const ENDS_IDLE: bool = true;

    async fn open(url: &str, connections: u32, idle_limit: bool) -> sqlx::Result<Pool<Self>> {
        sqlx::mysql::MySqlPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            .after_connect(move |conn, _| {
                Box::pin(async move {
                    if idle_limit {
                        sqlx::raw_sql("SET SESSION idle_transaction_timeout = 1")
                            .execute(conn)
                            .await?;
                    }
                    Ok(())
                })
            })
            .connect(url)
            .await
    }

    async fn look_from(url: &str) -> sqlx::Result<Pool<Self>> {
        sqlx::mysql::MySqlPoolOptions::new()
            .max_connections(2)
            .after_connect(|conn, _| {
                Box::pin(async move {
                    sqlx::raw_sql("SET SESSION innodb_lock_wait_timeout = 1")
                        .execute(conn)
                        .await
                        .map(drop)
                })
            })
            .connect(url)
            .await
    }

    async fn sessions_busy(pool: &Pool<Self>) -> sqlx::Result<i64> {
        sqlx::query_scalar(
            "SELECT count(*) FROM information_schema.innodb_trx t \
             JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
             WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()",
        )
        .fetch_one(pool)
        .await
    }

    in_its_words!(
        mysql,
        "SELECT CONVERT(`key` USING utf8mb4), CAST(status AS SIGNED), fence, result FROM idempotent_keys"
    );
}
