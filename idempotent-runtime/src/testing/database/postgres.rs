//! PostgreSQL: each world is a database of its own on one server.

use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Postgres, Row};

use super::{Bench, Between, Column, Ears, LabDatabase, fresh_name, on_a_thread, quoted};
use crate::dialect::{Dialect, Fault};
use crate::testing::turns::Turns;

impl LabDatabase for Postgres {}

/// A server, and the databases on it that are used again: to drop one takes a checkpoint of the whole
/// server, which may be a second, and to empty one a moment.
#[derive(Debug)]
pub struct Server {
    url: String,
    spare: Arc<Mutex<Vec<String>>>,
}

/// A database on a server, which goes with this.
#[derive(Debug)]
pub struct Made {
    server: PgConnectOptions,
    name: String,
    spare: Arc<Mutex<Vec<String>>>,
    gone: bool,
}

/// Ends whatever is still connected, an attempt's last statement on its way included, and takes all
/// schemas away.
const EMPTY: &str = "\
    SET lock_timeout = '5s';
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid();
    DO $$ DECLARE name text; BEGIN
      FOR name IN SELECT nspname FROM pg_namespace
                   WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', name);
      END LOOP;
      CREATE SCHEMA public;
    END $$;";

impl Bench for Postgres {
    type Place = Server;
    type Made = Made;

    const END_LEASES: &'static str = "UPDATE idempotent_keys \
        SET lease_until = clock_timestamp() - interval '1 second' \
        WHERE status = 0 AND lease_until > clock_timestamp()";
    const KEYS: &'static str = "SELECT key FROM idempotent_keys ORDER BY key";
    const LOGS_IN_TASK: bool = true;
    const OPEN: usize = 3;

    async fn make(place: &Server) -> sqlx::Result<Made> {
        let server = PgConnectOptions::from_str(&place.url)?;
        let spare = place.take();
        let name = match &spare {
            Some(name) => name.clone(),
            None => fresh_name()?,
        };
        let made = Made {
            server,
            name,
            spare: Arc::clone(&place.spare),
            gone: false,
        };
        if spare.is_none() {
            let sql = format!("CREATE DATABASE {}", made.name);
            on_server(&made.server, sql).await?;
        }
        Ok(made)
    }

    async fn unmake(mut made: Made) -> sqlx::Result<()> {
        made.gone = true;
        match made.empty().await {
            Ok(()) => {
                lock(&made.spare).push(made.name.clone());
                Ok(())
            }
            // By force, whatever was in the way.
            Err(_) => on_server(&made.server, removal(&made.name)).await,
        }
    }

    async fn clear(place: &Server) -> sqlx::Result<()> {
        while let Some(name) = place.take() {
            on_server(&PgConnectOptions::from_str(&place.url)?, removal(&name)).await?;
        }
        Ok(())
    }

    async fn between(made: &Made, turns: &Turns) -> std::io::Result<Between> {
        let (server, host) = (&made.server, made.server.get_host());
        let in_a_file = server.get_socket().is_some() || host.starts_with('/');
        if in_a_file || matches!(server.get_ssl_mode(), PgSslMode::VerifyFull) {
            return Ok(Between::default());
        }
        Between::relay(host, server.get_port(), turns).await
    }

    async fn open(
        made: &Made,
        connections: u32,
        lock_wait: Duration,
        process: Option<&Ears>,
    ) -> sqlx::Result<PgPool> {
        let lock_timeout = lock_wait.as_millis().to_string();
        let mut options = made.server.clone().database(&made.name);
        if let Some(port) = process.and_then(|ears| ears.between.port()) {
            options = options.host("127.0.0.1").port(port);
        }
        PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect_with(options.options([("lock_timeout", lock_timeout)]))
            .await
    }

    async fn columns(pool: &PgPool) -> sqlx::Result<Vec<Column>> {
        // `nextval` and identity columns keep their numbers through a rollback; what refers to such
        // a column holds the same numbers.
        let columns: Vec<(String, String, bool, bool)> = sqlx::query_as(
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
                                  AND n.attnum = f.confkey[i]),
                    t.typcategory = 'N' OR t.typcategory = 'B'
               FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
               JOIN pg_attribute AS a ON a.attrelid = c.oid
               JOIN pg_type AS t ON t.oid = a.atttypid
              WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND s.nspname <> 'information_schema' AND s.nspname NOT LIKE 'pg\\_%'
                AND a.attnum > 0 AND NOT a.attisdropped
              ORDER BY 1, a.attnum",
        )
        .fetch_all(pool)
        .await?;
        let columns = columns
            .into_iter()
            .map(|(table, name, numbered, plain)| Column {
                // As `regclass` writes it, with the quotes and the schema that it needs.
                from: table.clone(),
                literal: match plain {
                    true => format!("COALESCE({}::text, 'NULL')", quoted(&name)),
                    false => format!("quote_nullable({}::text)", quoted(&name)),
                },
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

impl Server {
    pub(in crate::testing) fn at(url: String) -> Self {
        Self {
            url,
            spare: Arc::default(),
        }
    }

    fn take(&self) -> Option<String> {
        lock(&self.spare).pop()
    }
}

/// Of a lab that ended in an error or a panic.
impl Drop for Server {
    fn drop(&mut self) {
        let Ok(server) = PgConnectOptions::from_str(&self.url) else {
            return;
        };
        while let Some(name) = self.take() {
            let server = server.clone();
            on_a_thread(async move { on_server(&server, removal(&name)).await });
        }
    }
}

impl Made {
    /// Makes it as good as a fresh one.
    async fn empty(&self) -> sqlx::Result<()> {
        let mut conn = self.server.clone().database(&self.name).connect().await?;
        sqlx::raw_sql(EMPTY).execute(&mut conn).await?;
        conn.close().await
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.gone {
            let (server, removal) = (self.server.clone(), removal(&self.name));
            on_a_thread(async move { on_server(&server, removal).await });
        }
    }
}

fn lock(spare: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    spare.lock().unwrap_or_else(PoisonError::into_inner)
}

fn removal(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")
}

/// Runs a statement beside the databases.
async fn on_server(server: &PgConnectOptions, sql: String) -> sqlx::Result<()> {
    let mut conn = server.connect().await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
    conn.close().await
}
