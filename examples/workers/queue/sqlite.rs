//! SQLite: a file of the queue's own.
//!
//! apalis' `setup` sets `synchronous = OFF` on a connection of the pool that it is given, so that
//! a power cut may lose what was committed: right for a queue that is pushed to again, wrong for
//! a ledger. Its own file and pool keep the two apart.

use std::path::Path;

use anyhow::{Context as _, Result};
use apalis_sqlite::{Config, SqliteStorage};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

use super::{BATCH, HEARTBEAT, MISSED_HEARTBEATS, Settled};
use crate::payload::{Kind, Payload};

pub async fn make(path: &Path) -> Result<()> {
    let pool = connect(path).await?;
    SqliteStorage::setup(&pool)
        .await
        .context("cannot lay out the queue")?;
    pool.close().await;
    Ok(())
}

pub async fn connect(path: &Path) -> Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    SqlitePoolOptions::new()
        .max_connections(2)
        .connect_with(options)
        .await
        .with_context(|| format!("cannot open the queue {}", path.display()))
}

pub fn storage<T: Payload>(pool: &SqlitePool) -> SqliteStorage<T> {
    SqliteStorage::new(pool).with_config(
        Config::default()
            .queue(T::KIND.name())
            .batch_size(BATCH)
            .heartbeat_interval(HEARTBEAT)
            .missed_heartbeats(MISSED_HEARTBEATS),
    )
}

pub async fn settled(pool: &SqlitePool, kind: Kind) -> Result<Settled> {
    let (done, dead): (i64, i64) = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE status = 'Done'),
                count(*) FILTER (WHERE status = 'Killed'
                                 OR (status = 'Failed' AND attempts >= max_attempts))
         FROM Jobs WHERE job_type = ?",
    )
    .bind(kind.name())
    .fetch_one(pool)
    .await?;
    Ok(Settled {
        done: done.try_into()?,
        dead: dead.try_into()?,
    })
}
