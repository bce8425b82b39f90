//! MySQL and MariaDB: a database of the shop's own on a server.

use anyhow::{Context as _, Result};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, MySql, MySqlConnection, MySqlPool,
};
use tokio::time::timeout;

use super::SERVER_PATIENCE;
use super::driver::{Answer, Driver, Value, arguments};
use super::place::OnServer;

impl Driver for MySql {
    type Place = OnServer;

    async fn make(place: &OnServer) -> Result<()> {
        let sql = format!("CREATE DATABASE {} CHARACTER SET utf8mb4", place.database);
        on_the_server(place, sql)
            .await
            .context("cannot make a database on the MySQL server")
    }

    async fn connect(place: &OnServer) -> Result<MySqlPool> {
        let options: MySqlConnectOptions = place.url.parse()?;
        MySqlPoolOptions::new()
            .max_connections(super::CONNECTIONS)
            .connect_with(options.database(&place.database))
            .await
            .with_context(|| format!("cannot open {} on the MySQL server", place.database))
    }

    async fn lay_out(pool: &MySqlPool) -> sqlx::Result<()> {
        let schema = sqlx::raw_sql(include_str!("schema/mysql.sql"));
        schema.execute(pool).await.map(drop)
    }

    async fn remove(place: &OnServer) -> Result<()> {
        // It waits for the transactions of killed workers, which end when the server notices.
        on_the_server(place, format!("DROP DATABASE IF EXISTS {}", place.database))
            .await
            .with_context(|| format!("database {} is left on the MySQL server", place.database))
    }

    async fn ask<T: Answer>(
        conn: &mut MySqlConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Option<T>> {
        sqlx::query_scalar_with(sql, arguments::<MySql>(values)?)
            .fetch_optional(conn)
            .await
    }

    async fn change(
        conn: &mut MySqlConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<u64> {
        let query = sqlx::query_with(sql, arguments::<MySql>(values)?);
        Ok(query.execute(conn).await?.rows_affected())
    }

    async fn insert(
        conn: &mut MySqlConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<i64> {
        let query = sqlx::query_with(sql, arguments::<MySql>(values)?);
        let done = query.execute(conn).await?;
        match done.rows_affected() {
            0 => Err(sqlx::Error::RowNotFound),
            _ => i64::try_from(done.last_insert_id())
                .map_err(|error| sqlx::Error::Decode(error.into())),
        }
    }
}

/// Runs a statement on the server, in whatever database the person named, or in none.
async fn on_the_server(place: &OnServer, sql: String) -> Result<()> {
    let options: MySqlConnectOptions = place.url.parse()?;
    let run = async {
        let mut conn = options.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
        conn.close().await
    };
    Ok(timeout(SERVER_PATIENCE, run)
        .await
        .context("it does not answer")??)
}
