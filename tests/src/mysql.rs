//! MySQL or MariaDB: a database of its own on the server of `IDEMPOTENT_TEST_MYSQL_URL`.

use sqlx::mysql::MySqlPoolOptions;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, MySqlPool, SqlSafeStr, SqlStr};

use crate::world::{TestDatabase, uuid_like};

/// The database of this module.
pub type Db = sqlx::MySql;
/// Its connection.
pub type Conn = MySqlConnection;
/// The variable that names its server.
pub const SERVER: Option<&str> = Some("IDEMPOTENT_TEST_MYSQL_URL");

/// A statement with `?` for its parameters, as this database writes them.
#[must_use]
pub fn sql(text: &'static str) -> SqlStr {
    text.into_sql_str()
}

/// A database to drop.
pub struct Made {
    server: String,
    name: String,
}

impl TestDatabase for sqlx::MySql {
    type Guard = Made;

    const SERVER: Option<&'static str> = SERVER;

    const BUSINESS: &'static str = "
        CREATE TABLE orders (id bigint PRIMARY KEY, total bigint NOT NULL, paid boolean NOT NULL
            DEFAULT FALSE, cancelled boolean NOT NULL DEFAULT FALSE, receipt text) ENGINE=InnoDB;
        CREATE TABLE effects (name varchar(255) NOT NULL) ENGINE=InnoDB;
        CREATE TABLE invoices (order_id bigint NOT NULL, month varchar(20) NOT NULL, number bigint
            NOT NULL DEFAULT 0, UNIQUE (order_id, month)) ENGINE=InnoDB;
        CREATE TABLE accounts (email varchar(200) NOT NULL) ENGINE=InnoDB;
        CREATE UNIQUE INDEX accounts_email ON accounts (email);
        INSERT INTO orders (id, total) VALUES (1, 100), (2, 200), (3, 300), (42, 4200);";
    const KEY_ROWS: &'static str = "SELECT count(*) FROM idempotent_keys WHERE `key` = ?";
    const END_LEASE: &'static str = "UPDATE idempotent_keys SET lease_until = \
        UTC_TIMESTAMP(6) - INTERVAL 1 SECOND WHERE `key` = ? AND status = 0";
    const AGE: &'static str =
        "UPDATE idempotent_keys SET first_at = first_at - INTERVAL 2 DAY WHERE `key` = ?";
    const END_RETENTION: &'static str = "UPDATE idempotent_keys SET forget_at = \
        UTC_TIMESTAMP(6) - INTERVAL 1 SECOND WHERE `key` = ?";

    const AN_HOUR_AHEAD: &'static str = "UPDATE idempotent_keys SET \
        lease_until = lease_until - INTERVAL 1 HOUR, first_at = first_at - INTERVAL 1 HOUR, \
        claimed_at = claimed_at - INTERVAL 1 HOUR, forget_at = forget_at - INTERVAL 1 HOUR WHERE `key` = ?";
    const AN_HOUR_BACK: &'static str = "UPDATE idempotent_keys SET \
        lease_until = lease_until + INTERVAL 1 HOUR, first_at = first_at + INTERVAL 1 HOUR, \
        claimed_at = claimed_at + INTERVAL 1 HOUR, forget_at = forget_at + INTERVAL 1 HOUR WHERE `key` = ?";

    const FENCE: &'static str = "SELECT fence FROM idempotent_keys WHERE `key` = ?";
    const HOLD_LEDGER: &'static str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
        START TRANSACTION; SELECT * FROM idempotent_keys FOR UPDATE";
    const BEGIN_SNAPSHOT: &'static str = "START TRANSACTION";
    const DDL_COMMITS: bool = true;
    const ONE_WRITER: bool = false;
    const UNDOING_ERROR: &'static str = "INSERT INTO accounts (email) VALUES ('taken')";
    const UNDOES_ON_ERROR: bool = false;
    const EXPIRED_KEYS: &'static str = "
        INSERT INTO idempotent_keys (`key`, job, status, owner, fence, attempts, result, first_at,
            claimed_at, finished_at, forget_at)
        WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 9)
        SELECT CONCAT('expired_', a.d, b.d, c.d, e.d, f.d), 'expired', 1, x'00', 1, 1, x'31',
            UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL 1 DAY
        FROM digits a, digits b, digits c, digits e, digits f WHERE f.d < 2";
    const IDLE_LIMIT: &'static str = "SELECT 1";

    async fn create(server: &str) -> (String, Made) {
        let name = format!("idempotent_test_{}", uuid_like());
        let mut conn = MySqlConnection::connect(server)
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
        let mut conn = MySqlConnection::connect(&made.server)
            .await
            .expect("the server of the tests");
        sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE {}", made.name)))
            .execute(&mut conn)
            .await
            .expect("the database was there");
    }

    async fn pool(url: &str, connections: u32) -> MySqlPool {
        MySqlPoolOptions::new()
            .max_connections(connections)
            .connect(url)
            .await
            .expect("a pool")
    }

    async fn run(pool: &MySqlPool, sql: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(sql).execute(pool).await.map(drop)
    }

    async fn in_transaction(conn: &mut MySqlConnection) -> bool {
        let inside = sqlx::query_scalar("SELECT @@in_transaction")
            .fetch_one(conn)
            .await;
        inside.is_ok_and(|inside: i64| inside == 1)
    }

    async fn change(pool: &MySqlPool, text: &'static str, key: &str) -> sqlx::Result<u64> {
        Ok(sqlx::query(sql(text))
            .bind(key)
            .execute(pool)
            .await?
            .rows_affected())
    }

    async fn number(pool: &MySqlPool, text: &'static str, key: &str) -> sqlx::Result<i64> {
        sqlx::query_scalar(sql(text))
            .bind(key)
            .fetch_one(pool)
            .await
    }
}
