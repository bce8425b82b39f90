//! PostgreSQL: a database of its own on the server of `IDEMPOTENT_TEST_POSTGRES_URL`.

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, SqlSafeStr, SqlStr};

use crate::world::{TestDatabase, uuid_like};

/// The database of this module.
pub type Db = sqlx::Postgres;
/// Its connection.
pub type Conn = PgConnection;
/// The variable that names its server.
pub const SERVER: Option<&str> = Some("IDEMPOTENT_TEST_POSTGRES_URL");

/// A statement with `?` for its parameters, as this database writes them.
#[must_use]
pub fn sql(text: &'static str) -> SqlStr {
    let mut out = String::with_capacity(text.len() + 8);
    let mut number = 0;
    for c in text.chars() {
        if c == '?' {
            number += 1;
            out.push_str(&format!("${number}"));
        } else {
            out.push(c);
        }
    }
    AssertSqlSafe(out).into_sql_str()
}

/// A database to drop.
pub struct Made {
    server: String,
    name: String,
}

impl TestDatabase for sqlx::Postgres {
    type Guard = Made;

    const SERVER: Option<&'static str> = SERVER;

    const BUSINESS: &'static str = "
        CREATE TABLE orders (id bigint PRIMARY KEY, total bigint NOT NULL, paid boolean NOT NULL
            DEFAULT FALSE, cancelled boolean NOT NULL DEFAULT FALSE, receipt text);
        CREATE TABLE effects (name text NOT NULL);
        CREATE TABLE invoices (order_id bigint NOT NULL, month text NOT NULL, number bigint NOT NULL
            DEFAULT 0, UNIQUE (order_id, month));
        CREATE TABLE accounts (email text NOT NULL);
        CREATE UNIQUE INDEX accounts_email ON accounts (email);
        INSERT INTO orders (id, total) VALUES (1, 100), (2, 200), (3, 300), (42, 4200);";
    const KEY_ROWS: &'static str = "SELECT count(*) FROM idempotent_keys WHERE key = ?";
    const END_LEASE: &'static str = "UPDATE idempotent_keys SET lease_until = \
        clock_timestamp() - interval '1 second' WHERE key = ? AND status = 0";
    const AGE: &'static str =
        "UPDATE idempotent_keys SET first_at = first_at - interval '2 days' WHERE key = ?";
    const END_RETENTION: &'static str = "UPDATE idempotent_keys SET forget_at = \
        clock_timestamp() - interval '1 second' WHERE key = ?";
    const AN_HOUR_AHEAD: &'static str = "UPDATE idempotent_keys SET \
        lease_until = lease_until - interval '1 hour', first_at = first_at - interval '1 hour', \
        claimed_at = claimed_at - interval '1 hour', forget_at = forget_at - interval '1 hour' WHERE key = ?";
    const AN_HOUR_BACK: &'static str = "UPDATE idempotent_keys SET \
        lease_until = lease_until + interval '1 hour', first_at = first_at + interval '1 hour', \
        claimed_at = claimed_at + interval '1 hour', forget_at = forget_at + interval '1 hour' WHERE key = ?";

    const FENCE: &'static str = "SELECT fence FROM idempotent_keys WHERE key = ?";
    const HOLD_LEDGER: &'static str = "BEGIN; INSERT INTO idempotent_keys (key, job, status, owner,
            fence, attempts, first_at, claimed_at)
        SELECT key, 'another', 0, '\\x00', 1, 1, now(), now()
        FROM unnest('{blocked_1,blocked_leased_1}'::text[]) AS key";
    const BEGIN_SNAPSHOT: &'static str = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    const DDL_COMMITS: bool = false;
    const ONE_WRITER: bool = false;
    const UNDOING_ERROR: &'static str = "INSERT INTO accounts (email) VALUES ('taken')";
    const UNDOES_ON_ERROR: bool = true;
    const EXPIRED_KEYS: &'static str = "
        INSERT INTO idempotent_keys (key, job, status, owner, fence, attempts, result, first_at,
            claimed_at, finished_at, forget_at)
        SELECT 'expired_' || n, 'expired', 1, '\\x00', 1, 1, '\\x31', now(), now(), now(),
            now() - interval '1 day' FROM generate_series(1, 20000) AS n";
    const IDLE_LIMIT: &'static str = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET \
        idle_in_transaction_session_timeout = ''1s''', current_database()); END $$";

    async fn create(server: &str) -> (String, Made) {
        let name = format!("idempotent_test_{}", uuid_like());
        let mut conn = PgConnection::connect(server)
            .await
            .expect("the server of the tests");
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))
            .execute(&mut conn)
            .await
            .expect("a database");
        conn.close().await.expect("a clean end");
        let base = server.rsplit_once('/').map_or(server, |(base, _)| base);
        (
            format!("{base}/{name}"),
            Made {
                server: server.to_owned(),
                name,
            },
        )
    }

    async fn drop_database(made: &Made) {
        let mut conn = PgConnection::connect(&made.server)
            .await
            .expect("the server of the tests");
        sqlx::raw_sql(AssertSqlSafe(format!(
            "DROP DATABASE {} WITH (FORCE)",
            made.name
        )))
        .execute(&mut conn)
        .await
        .expect("the database was there");
    }

    async fn pool(url: &str, connections: u32) -> PgPool {
        PgPoolOptions::new()
            .max_connections(connections)
            .connect(url)
            .await
            .expect("a pool")
    }

    async fn run(pool: &PgPool, sql: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(sql).execute(pool).await.map(drop)
    }

    async fn in_transaction(conn: &mut PgConnection) -> bool {
        // Time stands still in a transaction.
        const NOW: &str = "SELECT extract(epoch FROM now())::float8";
        let first: f64 = sqlx::query_scalar(NOW)
            .fetch_one(&mut *conn)
            .await
            .expect("the time");
        let second: f64 = sqlx::query_scalar(NOW)
            .fetch_one(conn)
            .await
            .expect("the time");
        first == second
    }

    async fn change(pool: &PgPool, text: &'static str, key: &str) -> sqlx::Result<u64> {
        Ok(sqlx::query(sql(text))
            .bind(key)
            .execute(pool)
            .await?
            .rows_affected())
    }

    async fn number(pool: &PgPool, text: &'static str, key: &str) -> sqlx::Result<i64> {
        sqlx::query_scalar(sql(text))
            .bind(key)
            .fetch_one(pool)
            .await
    }
}
