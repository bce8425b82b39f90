//! A fresh database for each run, and what the cases ask of it.

use std::str::FromStr;
use std::time::Duration;

use idempotent_runtime::{Backend, Store};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Connection, MySql, Pool, Postgres, Sqlite};

use crate::hand;
use crate::jobs::{self, Receipt};

/// Connections of the pool, as many applications have.
const POOL: u32 = 16;

/// What the cases ask of a database.
pub(crate) trait Bench: Backend {
    const TITLE: &'static str;

    /// A fresh database with the tables of both, and what has to stay alive for it.
    async fn fresh(url: &str) -> anyhow::Result<(Pool<Self>, Option<tempfile::TempDir>)>;
    async fn version(pool: &Pool<Self>) -> anyhow::Result<String>;
    /// Runs a statement.
    async fn run(pool: &Pool<Self>, sql: String) -> anyhow::Result<()>;
    /// Fills both tables of keys with finished ones, `from..to`.
    fn fill(from: u64, to: u64) -> [String; 2];

    fn ours(store: &Store<Self>, id: i64) -> impl Future<Output = anyhow::Result<()>> + Send;
    fn ours_leased(store: &Store<Self>, id: i64)
    -> impl Future<Output = anyhow::Result<()>> + Send;
    fn hand(pool: &Pool<Self>, id: i64) -> impl Future<Output = anyhow::Result<()>> + Send;
    /// A second way to do it by hand, where there is one.
    fn hand_other(pool: &Pool<Self>, id: i64) -> impl Future<Output = anyhow::Result<()>> + Send {
        Self::hand(pool, id)
    }
    fn hand_leased(pool: &Pool<Self>, id: i64) -> impl Future<Output = anyhow::Result<()>> + Send;
    /// A bare read of a finished key, decoded.
    fn bare(pool: &Pool<Self>, id: i64) -> impl Future<Output = anyhow::Result<()>> + Send;
    /// The guard alone, on a connection of the pool.
    fn guard(pool: &Pool<Self>, id: i64) -> impl Future<Output = anyhow::Result<()>> + Send;
}

fn decoded(bytes: &[u8]) -> anyhow::Result<()> {
    serde_json::from_slice::<Receipt>(bytes)?;
    Ok(())
}

macro_rules! the_same_for_all {
    ($module:ident, $read:literal) => {
        async fn run(pool: &Pool<Self>, sql: String) -> anyhow::Result<()> {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?;
            Ok(())
        }

        async fn ours(store: &Store<Self>, id: i64) -> anyhow::Result<()> {
            drop(jobs::$module::transactional(store, id).await?);
            Ok(())
        }

        async fn ours_leased(store: &Store<Self>, id: i64) -> anyhow::Result<()> {
            drop(jobs::$module::leased(store, id).await?);
            Ok(())
        }

        async fn bare(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
            let stored: Vec<u8> = sqlx::query_scalar($read)
                .bind(format!("order_{id}"))
                .fetch_one(pool)
                .await?;
            decoded(&stored)
        }

        async fn guard(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
            let mut conn = pool.acquire().await?;
            anyhow::ensure!(jobs::$module::done(&mut conn, id).await?);
            Ok(())
        }
    };
}

impl Bench for Sqlite {
    const TITLE: &'static str = "sqlite";

    async fn fresh(_: &str) -> anyhow::Result<(Pool<Self>, Option<tempfile::TempDir>)> {
        let folder = tempfile::tempdir()?;
        let url = format!("sqlite:{}", folder.path().join("bench.db").display());
        let options = SqliteConnectOptions::from_str(&url)?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(5));
        let pool = SqlitePoolOptions::new()
            .max_connections(POOL)
            .test_before_acquire(false)
            .connect_with(options)
            .await?;
        let tables = "CREATE TABLE orders_done (order_id INTEGER PRIMARY KEY);
            CREATE TABLE hand_keys (key TEXT NOT NULL PRIMARY KEY, status INTEGER NOT NULL,
                owner BLOB, lease_until INTEGER, result BLOB, at INTEGER NOT NULL)
                STRICT, WITHOUT ROWID;";
        Self::run(&pool, tables.to_owned()).await?;
        Ok((pool, Some(folder)))
    }

    async fn version(pool: &Pool<Self>) -> anyhow::Result<String> {
        Ok(sqlx::query_scalar("SELECT sqlite_version()")
            .fetch_one(pool)
            .await?)
    }

    fn fill(from: u64, to: u64) -> [String; 2] {
        let rows = format!(
            "WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {to})"
        );
        let result =
            "CAST('{\"id\":\"receipt-' || i || '\",\"total\":' || (i * 100) || '}' AS BLOB)";
        [
            format!(
                "INSERT INTO hand_keys (key, status, result, at) {rows} \
                 SELECT 'order_' || i, 1, {result}, 0 FROM n"
            ),
            format!(
                "INSERT INTO idempotent_keys (key, job, status, owner, fence, attempts, result, \
                 first_at, claimed_at, finished_at) {rows} SELECT 'order_' || i, 'transactional', 1, \
                 randomblob(16), 1, 1, {result}, 0, 0, 0 FROM n"
            ),
        ]
    }

    async fn hand(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
        hand::sqlite_transactional(pool, id).await.map(drop)
    }

    async fn hand_leased(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
        hand::sqlite_leased(pool, id).await.map(drop)
    }

    the_same_for_all!(sqlite, "SELECT result FROM hand_keys WHERE key = ?");
}

impl Bench for Postgres {
    const TITLE: &'static str = "postgres";

    async fn fresh(url: &str) -> anyhow::Result<(Pool<Self>, Option<tempfile::TempDir>)> {
        let mut server = sqlx::PgConnection::connect(url).await?;
        for sql in [
            "DROP DATABASE IF EXISTS idempotent_bench WITH (FORCE)",
            "CREATE DATABASE idempotent_bench",
        ] {
            sqlx::raw_sql(sql).execute(&mut server).await?;
        }
        let base = url.rsplit_once('/').map_or(url, |(base, _)| base);
        let pool = PgPoolOptions::new()
            .max_connections(POOL)
            .test_before_acquire(false)
            .connect(&format!("{base}/idempotent_bench"))
            .await?;
        let tables = "CREATE TABLE orders_done (order_id bigint PRIMARY KEY);
            CREATE TABLE hand_keys (key text COLLATE \"C\" PRIMARY KEY, status smallint NOT NULL,
                owner bytea, lease_until timestamptz, result bytea, at timestamptz NOT NULL)
                WITH (fillfactor = 80);";
        Self::run(&pool, tables.to_owned()).await?;
        Ok((pool, None))
    }

    async fn version(pool: &Pool<Self>) -> anyhow::Result<String> {
        Ok(sqlx::query_scalar("SHOW server_version")
            .fetch_one(pool)
            .await?)
    }

    fn fill(from: u64, to: u64) -> [String; 2] {
        let result =
            "convert_to('{\"id\":\"receipt-' || i || '\",\"total\":' || (i * 100) || '}', 'UTF8')";
        let rows = format!("FROM generate_series({from}, {} - 1) AS i", to);
        [
            format!(
                "INSERT INTO hand_keys (key, status, result, at) SELECT 'order_' || i, 1, {result}, \
                 now() {rows}"
            ),
            format!(
                "INSERT INTO idempotent_keys (key, job, status, owner, fence, attempts, result, \
                 first_at, claimed_at, finished_at) SELECT 'order_' || i, 'transactional', 1, \
                 decode(md5(i::text), 'hex'), 1, 1, {result}, now(), now(), now() {rows}; \
                 ANALYZE idempotent_keys; ANALYZE hand_keys"
            ),
        ]
    }

    async fn hand(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
        hand::postgres_transactional(pool, id).await.map(drop)
    }

    async fn hand_other(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
        hand::postgres_advisory(pool, id).await.map(drop)
    }

    async fn hand_leased(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
        hand::postgres_leased(pool, id).await.map(drop)
    }

    the_same_for_all!(postgres, "SELECT result FROM hand_keys WHERE key = $1");
}

impl Bench for MySql {
    const TITLE: &'static str = "mysql";

    async fn fresh(url: &str) -> anyhow::Result<(Pool<Self>, Option<tempfile::TempDir>)> {
        let mut server = sqlx::MySqlConnection::connect(url).await?;
        for sql in [
            "DROP DATABASE IF EXISTS idempotent_bench",
            "CREATE DATABASE idempotent_bench",
        ] {
            sqlx::raw_sql(sql).execute(&mut server).await?;
        }
        let base = url.rsplit_once('/').map_or(url, |(base, _)| base);
        let pool = MySqlPoolOptions::new()
            .max_connections(POOL)
            .test_before_acquire(false)
            .connect(&format!("{base}/idempotent_bench"))
            .await?;
        let tables = "CREATE TABLE orders_done (order_id bigint PRIMARY KEY) ENGINE=InnoDB;
            CREATE TABLE hand_keys (k varbinary(255) PRIMARY KEY, status smallint NOT NULL,
                owner binary(16), lease_until datetime(6), result longblob, at datetime(6) NOT NULL)
                ENGINE=InnoDB;";
        Self::run(&pool, tables.to_owned()).await?;
        Ok((pool, None))
    }

    async fn version(pool: &Pool<Self>) -> anyhow::Result<String> {
        Ok(sqlx::query_scalar("SELECT version()")
            .fetch_one(pool)
            .await?)
    }

    fn fill(from: u64, to: u64) -> [String; 2] {
        let result = "concat('{\"id\":\"receipt-', i, '\",\"total\":', i * 100, '}')";
        let rows = format!(
            "WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {to})"
        );
        let deep = "SET max_recursive_iterations = 100000000;";
        [
            format!(
                "{deep} INSERT INTO hand_keys (k, status, result, at) {rows} \
                 SELECT concat('order_', i), 1, {result}, UTC_TIMESTAMP(6) FROM n"
            ),
            format!(
                "{deep} INSERT INTO idempotent_keys (`key`, job, status, owner, fence, attempts, \
                 result, first_at, claimed_at, finished_at) {rows} SELECT concat('order_', i), \
                 'transactional', 1, unhex(md5(i)), 1, 1, {result}, UTC_TIMESTAMP(6), \
                 UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) FROM n"
            ),
        ]
    }

    async fn hand(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
        hand::mysql_transactional(pool, id).await.map(drop)
    }

    async fn hand_leased(pool: &Pool<Self>, id: i64) -> anyhow::Result<()> {
        hand::mysql_leased(pool, id).await.map(drop)
    }

    the_same_for_all!(mysql, "SELECT result FROM hand_keys WHERE k = ?");
}
