//! MySQL and MariaDB: each world is a database of its own on one server.

use std::str::FromStr;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySql, Row};

use super::{Bench, Between, Column, Ears, LabDatabase, fresh_name, on_a_thread};
use crate::dialect::{Dialect, Fault};
use crate::testing::turns::Turns;

impl LabDatabase for MySql {}

/// A database on a server, which goes with this.
#[derive(Debug)]
pub struct Made {
    server: MySqlConnectOptions,
    name: String,
    gone: bool,
}

impl Bench for MySql {
    /// The server's URL.
    type Place = String;
    type Made = Made;

    const END_LEASES: &'static str = "UPDATE idempotent_keys \
        SET lease_until = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND \
        WHERE status = 0 AND lease_until > UTC_TIMESTAMP(6)";
    const KEYS: &'static str =
        "SELECT CONVERT(`key` USING utf8mb4) FROM idempotent_keys ORDER BY `key`";
    const LOGS_IN_TASK: bool = true;
    const OPEN: usize = 3;

    async fn make(url: &String) -> sqlx::Result<Made> {
        let made = Made {
            server: MySqlConnectOptions::from_str(url)?,
            name: fresh_name()?,
            gone: false,
        };
        let sql = format!("CREATE DATABASE {}", made.name);
        on_server(&made.server, sql).await?;
        Ok(made)
    }

    async fn unmake(mut made: Made) -> sqlx::Result<()> {
        made.gone = true;
        on_server(&made.server, made.removal()).await
    }

    async fn between(made: &Made, turns: &Turns) -> std::io::Result<Between> {
        let server = &made.server;
        let named = matches!(server.get_ssl_mode(), MySqlSslMode::VerifyIdentity);
        if server.get_socket().is_some() || named {
            return Ok(Between::default());
        }
        Between::relay(server.get_host(), server.get_port(), turns).await
    }

    async fn open(
        made: &Made,
        connections: u32,
        lock_wait: Duration,
        process: Option<&Ears>,
    ) -> sqlx::Result<MySqlPool> {
        let mut options = made.server.clone().database(&made.name);
        if let Some(port) = process.and_then(|ears| ears.between.port()) {
            options = options.host("127.0.0.1").port(port);
        }
        // In whole seconds here, and MySQL knows no zero.
        let seconds = lock_wait.as_secs().max(1);
        MySqlPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .after_connect(move |conn, _| {
                Box::pin(async move {
                    sqlx::query("SET SESSION innodb_lock_wait_timeout = ?")
                        .bind(seconds)
                        .execute(conn)
                        .await
                        .map(drop)
                })
            })
            .connect_with(options)
            .await
    }

    async fn columns(pool: &MySqlPool) -> sqlx::Result<Vec<Column>> {
        // The catalogue's tables are made up at each question, from all databases where the question
        // does not name one: three plain ones, about this one, are answered at once.
        let options = pool.connect_options();
        let database = options.get_database().unwrap_or_default();
        let catalogue: Vec<(String, String, String, i64)> = sqlx::query_as(
            "SELECT CONVERT(table_name USING utf8mb4), CONVERT(column_name USING utf8mb4), \
                    CONVERT(data_type USING utf8mb4), extra LIKE '%auto_increment%' \
               FROM information_schema.columns WHERE table_schema = ? \
              ORDER BY table_name, ordinal_position",
        )
        .bind(database)
        .fetch_all(pool)
        .await?;
        let tables: Vec<String> = sqlx::query_scalar(
            "SELECT CONVERT(table_name USING utf8mb4) FROM information_schema.tables \
              WHERE table_schema = ? AND table_type = 'BASE TABLE'",
        )
        .bind(database)
        .fetch_all(pool)
        .await?;
        let references: Vec<(String, String, String, String)> = sqlx::query_as(
            "SELECT CONVERT(table_name USING utf8mb4), CONVERT(column_name USING utf8mb4), \
                    CONVERT(referenced_table_name USING utf8mb4), \
                    CONVERT(referenced_column_name USING utf8mb4) \
               FROM information_schema.key_column_usage \
              WHERE table_schema = ? AND referenced_table_schema = table_schema",
        )
        .bind(database)
        .fetch_all(pool)
        .await?;
        // `AUTO_INCREMENT` keeps its numbers through a rollback; what refers to such a column holds
        // the same numbers.
        let counts = |table: &str, name: &str| {
            let mut own = catalogue.iter().filter(|column| column.3 != 0);
            own.any(|column| column.0 == table && column.1 == name)
        };
        let refers = |table: &str, name: &str| {
            let mut own = references
                .iter()
                .filter(|from| from.0 == table && from.1 == name);
            own.any(|(_, _, to, column)| counts(to, column))
        };
        let columns = catalogue
            .iter()
            .filter(|(table, ..)| tables.contains(table))
            .map(|(table, name, data_type, _)| Column {
                from: quoted(table),
                literal: literal(name, data_type),
                numbered: counts(table, name) || refers(table, name),
                table: table.clone(),
                name: name.clone(),
            });
        Ok(columns.collect())
    }

    async fn fetch(pool: &MySqlPool, sql: String) -> sqlx::Result<Vec<Vec<String>>> {
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(pool).await?;
        rows.iter()
            .map(|row| (0..row.len()).map(|at| row.try_get(at)).collect())
            .collect()
    }

    async fn execute(pool: &MySqlPool, sql: &'static str) -> sqlx::Result<Option<u64>> {
        match sqlx::query(sql).execute(pool).await {
            Ok(done) => Ok(Some(done.rows_affected())),
            Err(error) if Self::fault(&error) == Fault::Locked => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Made {
    fn removal(&self) -> String {
        format!("DROP DATABASE IF EXISTS {}", self.name)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.gone {
            let (server, removal) = (self.server.clone(), self.removal());
            on_a_thread(async move { on_server(&server, removal).await });
        }
    }
}

/// Runs a statement beside the databases.
async fn on_server(server: &MySqlConnectOptions, sql: String) -> sqlx::Result<()> {
    let mut conn = server.connect().await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
    conn.close().await
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Bytes in hexadecimal, for they may be no text; numbers as they are; everything else as text.
fn literal(name: &str, data_type: &str) -> String {
    const NUMBERS: [&str; 8] = [
        "tinyint",
        "smallint",
        "mediumint",
        "int",
        "bigint",
        "decimal",
        "float",
        "double",
    ];
    let name = quoted(name);
    let bytes = data_type.contains("blob") || data_type.contains("binary") || data_type == "bit";
    if bytes {
        format!("COALESCE(CONCAT('0x', HEX({name})), 'NULL')")
    } else if NUMBERS.contains(&data_type) {
        format!("COALESCE(CONVERT({name} USING utf8mb4), 'NULL')")
    } else {
        format!("QUOTE(CONVERT({name} USING utf8mb4))")
    }
}
