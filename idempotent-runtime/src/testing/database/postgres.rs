//! PostgreSQL: each world is a database of its own on one server.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Postgres, Row};

use super::{Bench, Column, LabDatabase, fresh_name, quoted};
use crate::dialect::{Dialect, Fault};
use crate::testing::statements::Statements;
use crate::testing::turns::Turns;

impl LabDatabase for Postgres {}

/// A database on a server.
#[derive(Debug)]
pub struct Made {
    server: PgConnectOptions,
    name: String,
}

impl Bench for Postgres {
    /// The server's URL.
    type Place = String;
    type Made = Made;

    const END_LEASES: &'static str = "UPDATE idempotent_keys \
        SET lease_until = clock_timestamp() - interval '1 second' \
        WHERE status = 0 AND lease_until > clock_timestamp()";
    const KEYS: &'static str = "SELECT key FROM idempotent_keys ORDER BY key";
    const LOGS_IN_TASK: bool = true;
    const OPEN: usize = 3;

    async fn make(url: &String) -> sqlx::Result<Made> {
        let made = Made {
            server: PgConnectOptions::from_str(url)?,
            name: fresh_name()?,
        };
        made.on_server(format!("CREATE DATABASE {}", made.name))
            .await?;
        Ok(made)
    }

    async fn unmake(made: Made) -> sqlx::Result<()> {
        made.on_server(format!("DROP DATABASE {} WITH (FORCE)", made.name))
            .await
    }

    async fn open(
        made: &Made,
        connections: u32,
        lock_wait: Duration,
        _: Option<(&Statements, &Turns)>,
    ) -> sqlx::Result<PgPool> {
        let lock_timeout = lock_wait.as_millis().to_string();
        let options = made.server.clone().database(&made.name);
        PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect_with(options.options([("lock_timeout", lock_timeout)]))
            .await
    }

    async fn columns(pool: &PgPool) -> sqlx::Result<Vec<Column>> {
        // `nextval` and identity columns keep their numbers through a rollback; what refers to such
        // a column holds the same numbers.
        let columns: Vec<(String, String, bool)> = sqlx::query_as(
            "WITH numbered AS (
               SELECT a.attrelid, a.attnum FROM pg_attribute AS a
                 LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                WHERE a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%')
             SELECT c.oid::regclass::text, a.attname::text,
                    EXISTS (SELECT FROM numbered AS n
                             WHERE n.attrelid = c.oid AND n.attnum = a.attnum)
                    OR EXISTS (SELECT FROM pg_constraint AS f, generate_subscripts(f.conkey, 1) AS i
                                 JOIN numbered AS n ON true
                                WHERE f.contype = 'f' AND f.conrelid = c.oid
                                  AND f.conkey[i] = a.attnum AND n.attrelid = f.confrelid
                                  AND n.attnum = f.confkey[i])
               FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
               JOIN pg_attribute AS a ON a.attrelid = c.oid
              WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND s.nspname <> 'information_schema' AND s.nspname NOT LIKE 'pg\\_%'
                AND a.attnum > 0 AND NOT a.attisdropped
              ORDER BY 1, a.attnum",
        )
        .fetch_all(pool)
        .await?;
        let columns = columns.into_iter().map(|(table, name, numbered)| Column {
            // As `regclass` writes it, with the quotes and the schema that it needs.
            from: table.clone(),
            literal: format!("quote_nullable({}::text)", quoted(&name)),
            numbered,
            table,
            name,
        });
        Ok(columns.collect())
    }

    async fn fetch(pool: &PgPool, sql: String) -> sqlx::Result<Vec<Vec<String>>> {
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(pool).await?;
        rows.iter()
            .map(|row| (0..row.len()).map(|at| row.try_get(at)).collect())
            .collect()
    }

    async fn execute(pool: &PgPool, sql: &'static str) -> sqlx::Result<Option<u64>> {
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
