//! The tables, and whether this server can hold them.

use sqlx::postgres::PgConnection;
use sqlx::{Postgres, Row};

use super::On;
use super::transaction::has_code;
use crate::dialect::SCHEMA_VERSION;
use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;

/// The ledger's tables, to paste into migrations of your own; `store.migrate()` runs the same.
///
/// They are for PostgreSQL 13 or later, and go into the first schema of the `search_path`.
pub const POSTGRES_SCHEMA: &str = include_str!("../../../migrations/postgres/0001_ledger.sql");

/// Our own number among the database's advisory locks ("idempote", as bytes).
const MIGRATION_LOCK: i64 = 0x6964_656d_706f_7465;

/// `pg_current_xact_id` is of PostgreSQL 13.
const OLDEST: u32 = 130_000;

/// Inside a transaction of ours. The lock ends with it, on every path; sqlx's own migrator takes
/// another one, so that the two do not wait for each other.
pub(super) async fn migrate(mut on: On<'_>) -> Result<(), Error> {
    let failed = |error: sqlx::Error| error.into_failed::<Postgres>("creating the ledger's tables");
    refuse_old(on.conn)?;
    on.query("SELECT pg_advisory_xact_lock($1)")
        .bind(MIGRATION_LOCK)
        .execute(&mut *on.conn)
        .await
        .map_err(failed)?;
    // An error would end the transaction, so the table is looked up first.
    let there: bool = on
        .scalar("SELECT to_regclass('idempotent_meta') IS NOT NULL")
        .fetch_one(&mut *on.conn)
        .await
        .map_err(failed)?;
    if there {
        let found: i32 = on
            .scalar("SELECT coalesce(max(version), 0) FROM idempotent_meta")
            .fetch_one(&mut *on.conn)
            .await
            .map_err(failed)?;
        if found > SCHEMA_VERSION {
            return Err(Error::SchemaVersion {
                found,
                needed: SCHEMA_VERSION,
            });
        }
        if found == SCHEMA_VERSION {
            return Ok(());
        }
    }
    refuse_read_only(on.again()).await?;
    sqlx::raw_sql(POSTGRES_SCHEMA)
        .execute(on.conn)
        .await
        .map(drop)
        .map_err(failed)
}

pub(super) async fn inspect(mut on: On<'_>) -> Result<(), Error> {
    refuse_old(on.conn)?;
    refuse_read_only(on.again()).await?;
    let found: i32 = on
        .scalar("SELECT coalesce(max(version), 0) FROM idempotent_meta")
        .fetch_one(on.conn)
        .await
        .map_err(|error| error.into_failed::<Postgres>("reading the schema's version"))?;
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    Err(Error::SchemaVersion {
        found,
        needed: SCHEMA_VERSION,
    })
}

fn refuse_old(conn: &PgConnection) -> Result<(), Error> {
    match conn.server_version_num() {
        Some(version) if version < OLDEST => Err(Error::Unsupported {
            problem: format!(
                "it is PostgreSQL {}, and the ledger needs 13 or later",
                version / 10_000
            ),
        }),
        _ => Ok(()),
    }
}

/// The first statement of a store: where its name is not there, or is another client's, a pooler is
/// in between.
fn not_kept(error: sqlx::Error) -> Error {
    if has_code(&error, &["26000", "42P05"]) {
        return Error::Unsupported {
            problem: "its connections go through a pooler that gives each transaction another \
                      session: say `transaction_pooling(true)` on the store"
                .to_owned(),
        };
    }
    error.into_failed::<Postgres>("asking whether the server takes writes")
}

/// A replica answers reads, and would refuse each claim.
async fn refuse_read_only(on: On<'_>) -> Result<(), Error> {
    let row = on
        .query("SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'")
        .fetch_one(on.conn)
        .await;
    let (replica, read_only): (bool, bool) = row
        .and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .map_err(not_kept)?;
    let problem = if replica {
        "it is a read-only replica: connect to the primary server"
    } else if read_only {
        "its sessions are read-only (`default_transaction_read_only`)"
    } else {
        return Ok(());
    };
    Err(Error::Unsupported {
        problem: problem.to_owned(),
    })
}
