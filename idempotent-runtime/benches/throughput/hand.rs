//! The contenders: the same work in raw sqlx, written with care for each database.
//!
//! Each claims its key under a unique constraint, asks the guard before and after the body, stores
//! the result with the completion, and decodes it. What they leave out is what an expert leaves out
//! too: fingerprints of inputs, escapes of the body, nesting, logs.

use sqlx::{MySqlPool, PgPool, SqlitePool};
use tokio::sync::Mutex;

use crate::jobs::{Receipt, mysql, postgres, sqlite};

/// SQLite's writers in turn: without it, polling for the write lock costs the tail dearly.
static WRITER: Mutex<()> = Mutex::const_new(());

fn encode(receipt: &Receipt) -> anyhow::Result<Vec<u8>> {
    Ok(serde_json::to_vec(receipt)?)
}

fn decode(bytes: &[u8]) -> anyhow::Result<Receipt> {
    Ok(serde_json::from_slice(bytes)?)
}

fn owner() -> anyhow::Result<[u8; 16]> {
    let mut owner = [0; 16];
    getrandom::fill(&mut owner).map_err(|_| anyhow::anyhow!("no random bytes"))?;
    Ok(owner)
}

fn met(done: bool) -> anyhow::Result<()> {
    if done {
        Ok(())
    } else {
        anyhow::bail!("the guard is not met")
    }
}

/// SQLite: the write lock is the claim.
pub(crate) async fn sqlite_transactional(pool: &SqlitePool, id: i64) -> anyhow::Result<Receipt> {
    let key = format!("order_{id}");
    let _turn = WRITER.lock().await;
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    let stored: Option<Vec<u8>> = sqlx::query_scalar("SELECT result FROM hand_keys WHERE key = ?")
        .bind(&key)
        .fetch_optional(&mut *tx)
        .await?;
    if let Some(stored) = stored {
        return decode(&stored);
    }
    if sqlite::done(&mut tx, id).await? {
        return Ok(Receipt::of(id));
    }
    sqlite::write(&mut tx, id).await?;
    let stored = encode(&Receipt::of(id))?;
    met(sqlite::done(&mut tx, id).await?)?;
    sqlx::query("INSERT INTO hand_keys (key, status, result, at) VALUES (?, 1, ?, unixepoch())")
        .bind(&key)
        .bind(&stored)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    decode(&stored)
}

/// SQLite: a committed claim with an owner and a lease, and a completion that only its owner makes.
pub(crate) async fn sqlite_leased(pool: &SqlitePool, id: i64) -> anyhow::Result<Receipt> {
    let (key, owner) = (format!("leased_{id}"), owner()?);
    {
        let _turn = WRITER.lock().await;
        let claimed = sqlx::query(
            "INSERT INTO hand_keys (key, status, owner, lease_until, at) \
             VALUES (?, 0, ?, unixepoch() + 60, unixepoch()) ON CONFLICT (key) DO NOTHING",
        )
        .bind(&key)
        .bind(&owner[..])
        .execute(pool)
        .await?;
        anyhow::ensure!(claimed.rows_affected() == 1, "taken");
    }
    if sqlite::done(&mut *pool.acquire().await?, id).await? {
        return Ok(Receipt::of(id));
    }
    let stored = encode(&Receipt::of(id))?;
    let _turn = WRITER.lock().await;
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    sqlite::write(&mut tx, id).await?;
    met(sqlite::done(&mut tx, id).await?)?;
    let done =
        sqlx::query("UPDATE hand_keys SET status = 1, result = ? WHERE key = ? AND owner = ?")
            .bind(&stored)
            .bind(&key)
            .bind(&owner[..])
            .execute(&mut *tx)
            .await?;
    anyhow::ensure!(done.rows_affected() == 1, "lost");
    tx.commit().await?;
    decode(&stored)
}

/// PostgreSQL: the row is the claim; a duplicate waits at its insert.
pub(crate) async fn postgres_transactional(pool: &PgPool, id: i64) -> anyhow::Result<Receipt> {
    let key = format!("order_{id}");
    let mut tx = pool.begin().await?;
    let claimed = sqlx::query(
        "INSERT INTO hand_keys (key, status, at) VALUES ($1, 0, clock_timestamp()) \
         ON CONFLICT (key) DO NOTHING",
    )
    .bind(&key)
    .execute(&mut *tx)
    .await?;
    if claimed.rows_affected() == 0 {
        let stored: Vec<u8> = sqlx::query_scalar("SELECT result FROM hand_keys WHERE key = $1")
            .bind(&key)
            .fetch_one(&mut *tx)
            .await?;
        return decode(&stored);
    }
    if postgres::done(&mut tx, id).await? {
        return Ok(Receipt::of(id));
    }
    postgres::write(&mut tx, id).await?;
    let stored = encode(&Receipt::of(id))?;
    met(postgres::done(&mut tx, id).await?)?;
    sqlx::query("UPDATE hand_keys SET status = 1, result = $1 WHERE key = $2")
        .bind(&stored)
        .bind(&key)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    decode(&stored)
}

/// PostgreSQL: an advisory lock is the claim, and the row is written once.
pub(crate) async fn postgres_advisory(pool: &PgPool, id: i64) -> anyhow::Result<Receipt> {
    let key = format!("order_{id}");
    let mut tx = pool.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(&key)
        .execute(&mut *tx)
        .await?;
    let stored: Option<Vec<u8>> = sqlx::query_scalar("SELECT result FROM hand_keys WHERE key = $1")
        .bind(&key)
        .fetch_optional(&mut *tx)
        .await?;
    if let Some(stored) = stored {
        return decode(&stored);
    }
    if postgres::done(&mut tx, id).await? {
        return Ok(Receipt::of(id));
    }
    postgres::write(&mut tx, id).await?;
    let stored = encode(&Receipt::of(id))?;
    met(postgres::done(&mut tx, id).await?)?;
    sqlx::query(
        "INSERT INTO hand_keys (key, status, result, at) VALUES ($1, 1, $2, clock_timestamp())",
    )
    .bind(&key)
    .bind(&stored)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    decode(&stored)
}

/// PostgreSQL, with a lease.
pub(crate) async fn postgres_leased(pool: &PgPool, id: i64) -> anyhow::Result<Receipt> {
    let (key, owner) = (format!("leased_{id}"), owner()?);
    let claimed = sqlx::query(
        "INSERT INTO hand_keys (key, status, owner, lease_until, at) VALUES \
         ($1, 0, $2, clock_timestamp() + interval '60 seconds', clock_timestamp()) \
         ON CONFLICT (key) DO NOTHING",
    )
    .bind(&key)
    .bind(&owner[..])
    .execute(pool)
    .await?;
    anyhow::ensure!(claimed.rows_affected() == 1, "taken");
    if postgres::done(&mut *pool.acquire().await?, id).await? {
        return Ok(Receipt::of(id));
    }
    let stored = encode(&Receipt::of(id))?;
    let mut tx = pool.begin().await?;
    postgres::write(&mut tx, id).await?;
    met(postgres::done(&mut tx, id).await?)?;
    let done =
        sqlx::query("UPDATE hand_keys SET status = 1, result = $1 WHERE key = $2 AND owner = $3")
            .bind(&stored)
            .bind(&key)
            .bind(&owner[..])
            .execute(&mut *tx)
            .await?;
    anyhow::ensure!(done.rows_affected() == 1, "lost");
    tx.commit().await?;
    decode(&stored)
}

/// MySQL and MariaDB: the row is the claim.
pub(crate) async fn mysql_transactional(pool: &MySqlPool, id: i64) -> anyhow::Result<Receipt> {
    let key = format!("order_{id}");
    let mut tx = pool.begin().await?;
    let claimed =
        sqlx::query("INSERT INTO hand_keys (k, status, at) VALUES (?, 0, UTC_TIMESTAMP(6))")
            .bind(&key)
            .execute(&mut *tx)
            .await;
    if let Err(sqlx::Error::Database(error)) = &claimed
        && error.is_unique_violation()
    {
        let stored: Vec<u8> = sqlx::query_scalar("SELECT result FROM hand_keys WHERE k = ?")
            .bind(&key)
            .fetch_one(&mut *tx)
            .await?;
        return decode(&stored);
    }
    claimed?;
    if mysql::done(&mut tx, id).await? {
        return Ok(Receipt::of(id));
    }
    mysql::write(&mut tx, id).await?;
    let stored = encode(&Receipt::of(id))?;
    met(mysql::done(&mut tx, id).await?)?;
    sqlx::query("UPDATE hand_keys SET status = 1, result = ? WHERE k = ?")
        .bind(&stored)
        .bind(&key)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    decode(&stored)
}

/// MySQL and MariaDB, with a lease.
pub(crate) async fn mysql_leased(pool: &MySqlPool, id: i64) -> anyhow::Result<Receipt> {
    let (key, owner) = (format!("leased_{id}"), owner()?);
    sqlx::query(
        "INSERT INTO hand_keys (k, status, owner, lease_until, at) VALUES \
         (?, 0, ?, UTC_TIMESTAMP(6) + INTERVAL 60 SECOND, UTC_TIMESTAMP(6))",
    )
    .bind(&key)
    .bind(&owner[..])
    .execute(pool)
    .await?;
    if mysql::done(&mut *pool.acquire().await?, id).await? {
        return Ok(Receipt::of(id));
    }
    let stored = encode(&Receipt::of(id))?;
    let mut tx = pool.begin().await?;
    mysql::write(&mut tx, id).await?;
    met(mysql::done(&mut tx, id).await?)?;
    let done = sqlx::query("UPDATE hand_keys SET status = 1, result = ? WHERE k = ? AND owner = ?")
        .bind(&stored)
        .bind(&key)
        .bind(&owner[..])
        .execute(&mut *tx)
        .await?;
    anyhow::ensure!(done.rows_affected() == 1, "lost");
    tx.commit().await?;
    decode(&stored)
}
