//! SQLite: a file.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};

use super::driver::{Answer, Driver, Value, arguments};

impl Driver for Sqlite {
    type Place = PathBuf;

    async fn make(path: &PathBuf) -> Result<()> {
        let pool = connect(path, true).await?;
        pool.close().await;
        Ok(())
    }

    async fn connect(path: &PathBuf) -> Result<SqlitePool> {
        connect(path, false).await
    }

    async fn lay_out(pool: &SqlitePool) -> sqlx::Result<()> {
        let schema = sqlx::raw_sql(include_str!("schema/sqlite.sql"));
        schema.execute(pool).await.map(drop)
    }

    /// A file that a person named stays; a temporary one goes with its folder.
    async fn remove(_: &PathBuf) -> Result<()> {
        Ok(())
    }

    async fn ask<T: Answer>(
        conn: &mut SqliteConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Option<T>> {
        sqlx::query_scalar_with(sql, arguments::<Sqlite>(values)?)
            .fetch_optional(conn)
            .await
    }

    async fn change(
        conn: &mut SqliteConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<u64> {
        let query = sqlx::query_with(sql, arguments::<Sqlite>(values)?);
        Ok(query.execute(conn).await?.rows_affected())
    }

    async fn insert(
        conn: &mut SqliteConnection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<i64> {
        let query = sqlx::query_with(sql, arguments::<Sqlite>(values)?);
        let done = query.execute(conn).await?;
        // Without a row, the id is that of an earlier statement.
        match done.rows_affected() {
            0 => Err(sqlx::Error::RowNotFound),
            _ => Ok(done.last_insert_rowid()),
        }
    }
}

async fn connect(path: &PathBuf, make: bool) -> Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(make)
        .journal_mode(SqliteJournalMode::Wal);
    SqlitePoolOptions::new()
        .max_connections(super::CONNECTIONS)
        .connect_with(options)
        .await
        .with_context(|| format!("cannot open {}", path.display()))
}
