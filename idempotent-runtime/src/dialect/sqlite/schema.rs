//! Installing and checking the tables.

use sqlx::Sqlite;
use sqlx::sqlite::SqliteConnection;

use super::fault::{fault, primary_code};
use crate::dialect::{Fault, SCHEMA_VERSION};
use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;

/// The ledger's tables, to paste into migrations of your own; `store.migrate()` runs the same.
pub const SQLITE_SCHEMA: &str = include_str!("../../../migrations/sqlite/0001_ledger.sql");

pub(super) async fn migrate(conn: &mut SqliteConnection) -> Result<(), Error> {
    // Inside the caller's `BEGIN IMMEDIATE`, which is the lock against other migrations.
    match version(conn).await {
        Ok(found) if found > SCHEMA_VERSION => {
            return Err(Error::SchemaVersion {
                found,
                needed: SCHEMA_VERSION,
            });
        }
        Ok(_) => return refuse_read_only(conn).await,
        Err(error) if fault(&error) == Fault::NoSchema => {}
        Err(error) => return Err(error.into_failed::<Sqlite>("reading the schema's version")),
    }
    sqlx::raw_sql(SQLITE_SCHEMA)
        .execute(&mut *conn)
        .await
        .map(drop)
        .map_err(|error| error.into_failed::<Sqlite>("creating the ledger's tables"))
}

pub(super) async fn inspect(conn: &mut SqliteConnection) -> Result<(), Error> {
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut *conn)
        .await
        .map_err(|error| error.into_failed::<Sqlite>("reading the journal mode"))?;
    match &*mode {
        "wal" => {}
        "memory" => {
            return Err(Error::Unsupported {
                problem: "it is in memory, where each connection has a database of its own and \
                          nothing outlives the process: use a file (a temporary one in tests)"
                    .to_owned(),
            });
        }
        other => {
            return Err(Error::Unsupported {
                problem: format!(
                    "its journal mode is `{other}`, where a reader can fail a commit: open it \
                     with `SqliteConnectOptions::journal_mode(SqliteJournalMode::Wal)`, or \
                     through `SqliteStore::open`"
                ),
            });
        }
    }
    match version(conn).await {
        Ok(SCHEMA_VERSION) => Ok(()),
        Ok(found) => Err(Error::SchemaVersion {
            found,
            needed: SCHEMA_VERSION,
        }),
        Err(error) => Err(error.into_failed::<Sqlite>("reading the schema's version")),
    }
}

/// A file that takes no writes is opened like any other, and `BEGIN IMMEDIATE` succeeds on it.
async fn refuse_read_only(conn: &mut SqliteConnection) -> Result<(), Error> {
    const READ_ONLY: i32 = 8;
    let nothing = "UPDATE idempotent_meta SET version = version WHERE FALSE";
    match sqlx::query(nothing).execute(conn).await {
        Ok(_) => Ok(()),
        Err(sqlx::Error::Database(error)) if primary_code(&*error) == READ_ONLY => {
            Err(Error::Unsupported {
                problem: "it is read-only: give this process a file, and a folder, that it may \
                          write"
                    .to_owned(),
            })
        }
        Err(error) => Err(error.into_failed::<Sqlite>("writing to the ledger's tables")),
    }
}

async fn version(conn: &mut SqliteConnection) -> sqlx::Result<i32> {
    sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM idempotent_meta")
        .fetch_one(conn)
        .await
}
