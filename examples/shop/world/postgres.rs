//! PostgreSQL: a database of the shop's own on a server.

use anyhow::{Context as _, Result};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, PgPool, Postgres};
use tokio::time::timeout;

use super::SERVER_PATIENCE;
use super::driver::{Answer, Driver, Value, arguments};
use super::place::OnServer;

impl Driver for Postgres {
    type Place = OnServer;

    async fn make(place: &OnServer) -> Result<()> {
        on_the_server(place, format!("CREATE DATABASE {}", place.database))
            .await
            .context("cannot make a database on the PostgreSQL server")
    }

    async fn connect(place: &OnServer) -> Result<PgPool> {
        let options: PgConnectOptions = place.url.parse()?;
        PgPoolOptions::new()
            .max_connections(super::CONNECTIONS)
            .connect_with(options.database(&place.database))
            .await
            .with_context(|| format!("cannot open {} on the PostgreSQL server", place.database))
    }

    async fn lay_out(pool: &PgPool) -> sqlx::Result<()> {
        let schema = sqlx::raw_sql(include_str!("schema/postgres.sql"));
        schema.execute(pool).await.map(drop)
    }

    async fn remove(place: &OnServer) -> Result<()> {
        // By force: the server may not have noticed yet that a killed worker is gone.
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", place.database);
        on_the_server(place, sql).await.with_context(|| {
            format!(
                "database {} is left on the PostgreSQL server",
                place.database
            )
        })
    }

    async fn ask<T: Answer>(
        conn: &mut PgConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Option<T>> {
        sqlx::query_scalar_with(numbered(sql, ""), arguments::<Postgres>(values)?)
            .fetch_optional(conn)
            .await
    }

    async fn change(
        conn: &mut PgConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<u64> {
        let query = sqlx::query_with(numbered(sql, ""), arguments::<Postgres>(values)?);
        Ok(query.execute(conn).await?.rows_affected())
    }

    async fn insert(
        conn: &mut PgConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<i64> {
        sqlx::query_scalar_with(
            numbered(sql, " RETURNING id"),
            arguments::<Postgres>(values)?,
        )
        .fetch_one(conn)
        .await
    }
}

/// The statement as this database writes it: `$1`, `$2` for each `?`. It is made of static text.
fn numbered(sql: &'static str, end: &'static str) -> AssertSqlSafe<String> {
    let mut numbered = String::with_capacity(sql.len() + end.len() + 8);
    for (number, part) in sql.split('?').enumerate() {
        if number > 0 {
            numbered.push_str(&format!("${number}"));
        }
        numbered.push_str(part);
    }
    AssertSqlSafe(numbered + end)
}

/// Runs a statement in the database that the person named.
async fn on_the_server(place: &OnServer, sql: String) -> Result<()> {
    let options: PgConnectOptions = place.url.parse()?;
    let run = async {
        let mut conn = options.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
        conn.close().await
    };
    Ok(timeout(SERVER_PATIENCE, run)
        .await
        .context("it does not answer")??)
}
