//! SQLite: each world is a file in a temporary folder.

use std::cell::RefCell;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Row, Sqlite};
use tempfile::TempDir;
use tracing::Dispatch;
use tracing::dispatcher::DefaultGuard;

use super::{Bench, Column, Ears, LabDatabase, quoted};
use crate::dialect::{Dialect, Fault};
use crate::testing::statements::LISTEN;
use crate::testing::turns::Turns;

impl LabDatabase for Sqlite {}

impl Bench for Sqlite {
    type Place = ();
    type Made = TempDir;

    const END_LEASES: &'static str =
        "UPDATE idempotent_keys SET lease_until = 0 WHERE status = 0 AND lease_until > 0";
    const KEYS: &'static str = "SELECT key FROM idempotent_keys ORDER BY key";
    const LOGS_IN_TASK: bool = false;
    const OPEN: usize = 6;

    async fn make((): &()) -> sqlx::Result<TempDir> {
        Ok(tempfile::Builder::new()
            .prefix("idempotent-lab-")
            .tempdir()?)
    }

    async fn unmake(folder: TempDir) -> sqlx::Result<()> {
        Ok(folder.close()?)
    }

    async fn open(
        folder: &TempDir,
        connections: u32,
        lock_wait: Duration,
        process: Option<&Ears>,
    ) -> sqlx::Result<SqlitePool> {
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("world.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // Processes die in the lab; machines do not.
            .synchronous(SqliteSynchronous::Off)
            .foreign_keys(true)
            .busy_timeout(lock_wait);
        let pool = SqlitePoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false);
        let Some(Ears {
            statements, turns, ..
        }) = process
        else {
            return pool.connect_with(options).await;
        };
        let (listener, turns) = (statements.listener(Some(turns)), turns.clone());
        let pool = pool.after_connect(move |conn, _| {
            let (listener, turns) = (listener.clone(), turns.clone());
            Box::pin(take_part(conn, listener, turns))
        });
        pool.connect_with(options).await
    }

    async fn columns(pool: &SqlitePool) -> sqlx::Result<Vec<Column>> {
        let columns: Vec<(String, String)> = sqlx::query_as(
            "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c \
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
             ORDER BY t.name, c.cid",
        )
        .fetch_all(pool)
        .await?;
        let columns = columns.into_iter().map(|(table, name)| Column {
            from: quoted(&table),
            literal: format!("quote({})", quoted(&name)),
            // A rollback sets all numbers back here.
            numbered: false,
            table,
            name,
        });
        Ok(columns.collect())
    }

    async fn fetch(pool: &SqlitePool, sql: String) -> sqlx::Result<Vec<Vec<String>>> {
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(pool).await?;
        rows.iter()
            .map(|row| (0..row.len()).map(|at| row.try_get(at)).collect())
            .collect()
    }

    async fn execute(pool: &SqlitePool, sql: &'static str) -> sqlx::Result<Option<u64>> {
        match sqlx::query(sql).execute(pool).await {
            Ok(done) => Ok(Some(done.rows_affected())),
            Err(error) if Self::fault(&error) == Fault::Locked => Ok(None),
            Err(error) => Err(error),
        }
    }
}

thread_local! {
    /// Keeps the subscriber of a connection's thread in place until the thread ends.
    static LISTENING: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
}

/// Has the thread of a connection log to the listener, and take turns with the attempts.
///
/// sqlx runs and logs SQLite's statements in a thread of each connection's own, which no scoped
/// subscriber reaches from outside. SQLite calls a progress handler in the thread that runs the
/// statement, at its end at the latest: this one puts the subscriber in place, during a statement
/// that is there for it, and holds every answer back until it is the database's turn.
async fn take_part(
    conn: &mut SqliteConnection,
    listener: Dispatch,
    turns: Turns,
) -> sqlx::Result<()> {
    conn.lock_handle().await?.set_progress_handler(1, move || {
        LISTENING.with_borrow_mut(|listening| {
            listening.get_or_insert_with(|| tracing::dispatcher::set_default(&listener));
        });
        turns.wait();
        true
    });
    sqlx::query(LISTEN).execute(conn).await.map(drop)
}
