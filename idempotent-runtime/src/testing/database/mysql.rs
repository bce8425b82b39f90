//! MySQL and MariaDB: each world is a database of its own on one server.

use std::str::FromStr;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySql, Row};

use super::{Bench, Column, LabDatabase, fresh_name};
use crate::dialect::{Dialect, Fault};
use crate::testing::statements::Statements;
use crate::testing::turns::Turns;

impl LabDatabase for MySql {}

/// A database on a server.
#[derive(Debug)]
pub struct Made {
    server: MySqlConnectOptions,
    name: String,
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
        };
        made.on_server(format!("CREATE DATABASE {}", made.name))
            .await?;
        Ok(made)
    }

    async fn unmake(made: Made) -> sqlx::Result<()> {
        made.on_server(format!("DROP DATABASE {}", made.name)).await
    }

    async fn open(
        made: &Made,
        connections: u32,
        lock_wait: Duration,
        _: Option<(&Statements, &Turns)>,
    ) -> sqlx::Result<MySqlPool> {
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
            .connect_with(made.server.clone().database(&made.name))
            .await
    }

    async fn columns(pool: &MySqlPool) -> sqlx::Result<Vec<Column>> {
        // `AUTO_INCREMENT` keeps its numbers through a rollback; what refers to such a column holds
        // the same numbers.
        let columns: Vec<(String, String, String, i64)> = sqlx::query_as(
            "SELECT CONVERT(c.table_name USING utf8mb4), CONVERT(c.column_name USING utf8mb4), \
                    CONVERT(c.data_type USING utf8mb4), \
                    c.extra LIKE '%auto_increment%' OR EXISTS ( \
                      SELECT 1 FROM information_schema.key_column_usage AS f \
                        JOIN information_schema.columns AS n ON n.table_schema = f.table_schema \
                         AND n.table_name = f.referenced_table_name \
                         AND n.column_name = f.referenced_column_name \
                       WHERE f.table_schema = c.table_schema AND f.table_name = c.table_name \
                         AND f.column_name = c.column_name AND n.extra LIKE '%auto_increment%') \
               FROM information_schema.columns AS c \
               JOIN information_schema.tables AS t \
                 ON t.table_schema = c.table_schema AND t.table_name = c.table_name \
              WHERE c.table_schema = DATABASE() AND t.table_type = 'BASE TABLE' \
              ORDER BY c.table_name, c.ordinal_position",
        )
        .fetch_all(pool)
        .await?;
        let columns = columns
            .into_iter()
            .map(|(table, name, data_type, numbered)| Column {
                from: quoted(&table),
                literal: literal(&name, &data_type),
                numbered: numbered != 0,
                table,
                name,
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
    /// Runs a statement beside the database.
    async fn on_server(&self, sql: String) -> sqlx::Result<()> {
        let mut conn = self.server.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
        conn.close().await
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Bytes in hexadecimal, for they may be no text; everything else as text.
fn literal(name: &str, data_type: &str) -> String {
    let name = quoted(name);
    let bytes = data_type.contains("blob") || data_type.contains("binary") || data_type == "bit";
    if bytes {
        format!("COALESCE(CONCAT('0x', HEX({name})), 'NULL')")
    } else {
        format!("QUOTE(CONVERT({name} USING utf8mb4))")
    }
}
