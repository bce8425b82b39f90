//! Installing and checking the tables.

use sqlx::mysql::MySqlConnection;

use super::super::SCHEMA_VERSION;
use super::fault::{NO_TABLE, number};
use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;

/// The ledger's tables, to paste into migrations of your own; `store.migrate()` runs the same.
pub const MYSQL_SCHEMA: &str = include_str!("../../../migrations/mysql/0001_ledger.sql");

/// How long to wait for another process that migrates, in seconds.
const LOCK_WAIT: i32 = 60;

/// The name of our lock, one a database: the names are the server's, and at most 64 characters.
macro_rules! lock {
    () => {
        "CONCAT('idempotent_runtime.', MD5(DATABASE()))"
    };
}

type Failed<T> = Result<T, Error>;

pub(super) async fn migrate(conn: &mut MySqlConnection) -> Failed<()> {
    if is_installed(conn).await? {
        return Ok(());
    }
    // Not sqlx's lock for migrations: a migrator of the user's own may hold that one.
    let got: Option<i32> = sqlx::query_scalar(concat!("SELECT GET_LOCK(", lock!(), ", ?)"))
        .bind(LOCK_WAIT)
        .fetch_one(&mut *conn)
        .await
        .map_err(|error| error.into_failed::<sqlx::MySql>("waiting for other migrations"))?;
    if got != Some(1) {
        return Err(sqlx::Error::PoolTimedOut
            .into_failed::<sqlx::MySql>("waiting for another process that creates the tables"));
    }
    let installed = install(conn).await;
    // Where this fails, the connection is closed, and the lock with it.
    let released: sqlx::Result<Option<i32>> =
        sqlx::query_scalar(concat!("SELECT RELEASE_LOCK(", lock!(), ")"))
            .fetch_one(conn)
            .await;
    installed?;
    released
        .map(drop)
        .map_err(|error| error.into_failed::<sqlx::MySql>("letting other migrations go on"))
}

async fn install(conn: &mut MySqlConnection) -> Failed<()> {
    if is_installed(conn).await? {
        return Ok(());
    }
    // Each statement commits by itself. One that is cut off is run again by the next migration: the
    // version, which says that all is there, comes last.
    sqlx::raw_sql(MYSQL_SCHEMA)
        .execute(conn)
        .await
        .map(drop)
        .map_err(|error| error.into_failed::<sqlx::MySql>("creating the ledger's tables"))
}

async fn is_installed(conn: &mut MySqlConnection) -> Failed<bool> {
    match version(conn).await {
        Ok(0) => Ok(false),
        Ok(found) if found > SCHEMA_VERSION => Err(Error::SchemaVersion {
            found,
            needed: SCHEMA_VERSION,
        }),
        Ok(_) => Ok(true),
        Err(error) if number(&error) == Some(NO_TABLE) => Ok(false),
        Err(error) => Err(error.into_failed::<sqlx::MySql>("reading the schema's version")),
    }
}

async fn version(conn: &mut MySqlConnection) -> sqlx::Result<i32> {
    sqlx::query_scalar("SELECT CAST(COALESCE(MAX(version), 0) AS SIGNED) FROM idempotent_meta")
        .fetch_one(conn)
        .await
}

pub(super) async fn inspect(conn: &mut MySqlConnection) -> Failed<()> {
    match version(conn).await {
        Ok(SCHEMA_VERSION) => {}
        Ok(found) => {
            return Err(Error::SchemaVersion {
                found,
                needed: SCHEMA_VERSION,
            });
        }
        Err(error) => {
            return Err(error.into_failed::<sqlx::MySql>("reading the schema's version"));
        }
    }
    let reading =
        |error: sqlx::Error| error.into_failed::<sqlx::MySql>("reading how the tables are kept");
    let engine: Option<String> = sqlx::query_scalar(
        "SELECT CAST(CONCAT(table_name, '` is kept by ', COALESCE(engine, 'nothing')) AS CHAR) \
         FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN \
         ('idempotent_keys', 'idempotent_steps') AND COALESCE(engine, '') <> 'InnoDB' LIMIT 1",
    )
    .fetch_optional(&mut *conn)
    .await
    .map_err(reading)?;
    if let Some(engine) = engine {
        return Err(Error::Unsupported {
            problem: format!(
                "its table `{engine}`, which cannot undo a transaction: \
                 `ALTER TABLE … ENGINE=InnoDB`"
            ),
        });
    }
    let (autocommit, completion): (i64, String) =
        sqlx::query_as("SELECT CAST(@@autocommit AS SIGNED), CAST(@@completion_type AS CHAR)")
            .fetch_one(conn)
            .await
            .map_err(reading)?;
    if autocommit != 1 {
        return Err(Error::Unsupported {
            problem:
                "its sessions have `autocommit` off, where a claim would not be committed: leave \
                      it on, and begin transactions where they are wanted"
                    .to_owned(),
        });
    }
    if !matches!(&*completion, "NO_CHAIN" | "0") {
        return Err(Error::Unsupported {
            problem: format!(
                "its sessions have `completion_type` at `{completion}`, where a commit begins another \
                 transaction or ends the session: leave it at `NO_CHAIN`"
            ),
        });
    }
    Ok(())
}
