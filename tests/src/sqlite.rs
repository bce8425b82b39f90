//! SQLite: a file in a temporary folder.

use std::str::FromStr;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{SqlSafeStr, SqlStr, SqlitePool};
use tempfile::TempDir;

use crate::world::TestDatabase;

/// The database of this module.
pub type Db = sqlx::Sqlite;
/// Its connection.
pub type Conn = sqlx::SqliteConnection;
/// The variable that names its server.
pub const SERVER: Option<&str> = None;

/// A statement with `?` for its parameters, as this database writes them.
#[must_use]
pub fn sql(text: &'static str) -> SqlStr {
    text.into_sql_str()
}

impl TestDatabase for sqlx::Sqlite {
    type Guard = TempDir;

    const SERVER: Option<&'static str> = SERVER;

    const BUSINESS: &'static str = "
        CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER NOT NULL, paid BOOLEAN NOT NULL
            DEFAULT FALSE, cancelled BOOLEAN NOT NULL DEFAULT FALSE, receipt TEXT);
        CREATE TABLE effects (name TEXT NOT NULL);
        CREATE TABLE invoices (order_id INTEGER NOT NULL, month TEXT NOT NULL, number INTEGER NOT NULL
            DEFAULT 0, UNIQUE (order_id, month));
        CREATE TABLE accounts (email TEXT NOT NULL);
        CREATE UNIQUE INDEX accounts_email ON accounts (email);
        INSERT INTO orders (id, total) VALUES (1, 100), (2, 200), (3, 300), (42, 4200);";
    const KEY_ROWS: &'static str = "SELECT count(*) FROM idempotent_keys WHERE key = ?";
    const END_LEASE: &'static str =
        "UPDATE idempotent_keys SET lease_until = 0 WHERE key = ? AND status = 0";
    const AGE: &'static str =
        "UPDATE idempotent_keys SET first_at = first_at - 2 * 86400000 WHERE key = ?";
    const END_RETENTION: &'static str = "UPDATE idempotent_keys SET forget_at = 0 WHERE key = ?";
    const AN_HOUR_AHEAD: &'static str = "UPDATE idempotent_keys SET \
        lease_until = lease_until - 3600000, first_at = first_at - 3600000, \
        claimed_at = claimed_at - 3600000, forget_at = forget_at - 3600000 WHERE key = ?";
    const AN_HOUR_BACK: &'static str = "UPDATE idempotent_keys SET \
        lease_until = lease_until + 3600000, first_at = first_at + 3600000, \
        claimed_at = claimed_at + 3600000, forget_at = forget_at + 3600000 WHERE key = ?";

    const FENCE: &'static str = "SELECT fence FROM idempotent_keys WHERE key = ?";
    const HOLD_LEDGER: &'static str = "BEGIN IMMEDIATE";
    const BEGIN_SNAPSHOT: &'static str = "BEGIN";
    const DDL_COMMITS: bool = false;
    const ONE_WRITER: bool = true;
    const UNDOING_ERROR: &'static str = "INSERT OR ROLLBACK INTO accounts (email) VALUES ('taken')";
    const UNDOES_ON_ERROR: bool = true;
    const EXPIRED_KEYS: &'static str = "
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
        INSERT INTO idempotent_keys (key, job, status, owner, fence, attempts, result, first_at,
            claimed_at, finished_at, forget_at)
        SELECT 'expired_' || n, 'expired', 1, x'00', 1, 1, x'31', 0, 0, 0, n FROM numbers";
    const IDLE_LIMIT: &'static str = "SELECT 1";

    async fn create(_: &str) -> (String, TempDir) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        (
            format!("sqlite:{}", folder.path().join("test.db").display()),
            folder,
        )
    }

    async fn drop_database(_: &TempDir) {}

    async fn pool(url: &str, connections: u32) -> SqlitePool {
        let options = SqliteConnectOptions::from_str(url)
            .expect("a URL of ours")
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(5));
        SqlitePoolOptions::new()
            .max_connections(connections)
            .connect_with(options)
            .await
            .expect("a SQLite file")
    }

    async fn run(pool: &SqlitePool, sql: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(sql).execute(pool).await.map(drop)
    }

    async fn in_transaction(conn: &mut Conn) -> bool {
        // There is no transaction in a transaction.
        let begun = sqlx::raw_sql("BEGIN").execute(&mut *conn).await;
        let _ = sqlx::raw_sql("ROLLBACK").execute(conn).await;
        begun.is_err()
    }

    async fn change(pool: &SqlitePool, text: &'static str, key: &str) -> sqlx::Result<u64> {
        Ok(sqlx::query(sql(text))
            .bind(key)
            .execute(pool)
            .await?
            .rows_affected())
    }

    async fn number(pool: &SqlitePool, text: &'static str, key: &str) -> sqlx::Result<i64> {
        sqlx::query_scalar(sql(text))
            .bind(key)
            .fetch_one(pool)
            .await
    }
}
