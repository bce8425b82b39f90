//! Completion, leases, and doubt: changes of a row that is somebody's.

use std::time::Duration;

use sqlx::mysql::MySqlConnection;

use super::mark;
use super::sql::{micros, now, reserved};
use crate::ledger::record::{Claim, Finish, Finished, Holder};

/// The largest result that is sent without asking what the server takes.
const SURELY_TAKEN: usize = 512 * 1024;

/// What a statement takes beside the result.
const STATEMENT: usize = 4 * 1024;

macro_rules! finish {
    () => {
        concat!(
            "UPDATE idempotent_keys SET status = 1, result = ?, last_error = NULL, finished_at = ",
            now!(),
            ", forget_at = ",
            now!(),
            " + INTERVAL ? MICROSECOND WHERE `key` = ? AND status = 0 AND owner = ? \
             AND lease_until IS NULL"
        )
    };
}

macro_rules! finish_lease {
    () => {
        concat!(
            "UPDATE idempotent_keys SET status = 1, lease_until = NULL, result = ?, \
             last_error = NULL, finished_at = ",
            now!(),
            ", forget_at = ",
            now!(),
            " + INTERVAL ? MICROSECOND WHERE `key` = ? AND status = 0 AND owner = ? AND fence = ?"
        )
    };
}

pub(super) async fn finish(
    conn: &mut MySqlConnection,
    claim: &Claim<'_>,
    finish: &Finish<'_>,
) -> sqlx::Result<Finished> {
    if let Some(limit) = too_large(conn, finish.result).await? {
        return Ok(Finished::TooLarge(limit));
    }
    let values = |sql| {
        sqlx::query(sql)
            .bind(finish.result)
            .bind(finish.retain.map(micros))
            .bind(claim.key.as_str().as_bytes())
            .bind(&claim.owner[..])
    };
    let done = if claim.joined {
        match mark::check(conn, true).await? {
            true => Some(values(finish!()).execute(conn).await?),
            false => None,
        }
    } else {
        mark::last_statement!(conn, values, finish!())
    };
    Ok(match done {
        Some(done) if done.rows_affected() == 1 => Finished::Done,
        _ => Finished::Escaped,
    })
}

pub(super) async fn finish_lease(
    conn: &mut MySqlConnection,
    key: &str,
    holder: &Holder,
    finish: &Finish<'_>,
) -> sqlx::Result<Finished> {
    if let Some(limit) = too_large(conn, finish.result).await? {
        return Ok(Finished::TooLarge(limit));
    }
    let values = |sql| {
        sqlx::query(sql)
            .bind(finish.result)
            .bind(finish.retain.map(micros))
            .bind(key.as_bytes())
            .bind(&holder.owner[..])
            .bind(holder.fence)
    };
    Ok(match mark::last_statement!(conn, values, finish_lease!()) {
        Some(done) if done.rows_affected() == 1 => Finished::Done,
        Some(_) => Finished::Lost,
        None => Finished::Escaped,
    })
}

/// A packet that is too large for the server costs the connection, and an error that looks like a
/// passing one: so the server is asked first, where it matters.
pub(super) async fn too_large(
    conn: &mut MySqlConnection,
    result: &[u8],
) -> sqlx::Result<Option<usize>> {
    if result.len() <= SURELY_TAKEN {
        return Ok(None);
    }
    let packet: i64 = sqlx::query_scalar("SELECT CAST(@@max_allowed_packet AS SIGNED)")
        .fetch_one(conn)
        .await?;
    let limit = usize::try_from(packet)
        .unwrap_or(0)
        .saturating_sub(STATEMENT);
    Ok((result.len() > limit).then_some(limit))
}

pub(super) async fn renew(
    conn: &mut MySqlConnection,
    key: &str,
    holder: &Holder,
    lease: Duration,
) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "UPDATE idempotent_keys SET lease_until = ",
        now!(),
        " + INTERVAL ? MICROSECOND WHERE `key` = ? AND status = 0 AND owner = ? AND fence = ?"
    ))
    .bind(micros(lease))
    .bind(key.as_bytes())
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn release(
    conn: &mut MySqlConnection,
    key: &str,
    holder: &Holder,
    why: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE idempotent_keys SET lease_until = '1970-01-01', last_error = ? \
         WHERE `key` = ? AND status = 0 AND owner = ? AND fence = ?",
    )
    .bind(why.as_bytes())
    .bind(key.as_bytes())
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn discard(
    conn: &mut MySqlConnection,
    key: &str,
    holder: &Holder,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "DELETE FROM idempotent_keys WHERE `key` = ? AND status = 0 AND owner = ? AND fence = ?",
    )
    .bind(key.as_bytes())
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn doubt(
    conn: &mut MySqlConnection,
    claim: &Claim<'_>,
    why: &str,
) -> sqlx::Result<()> {
    // Assignments go from left to right, so the status, which all depend on, comes last. The values
    // are bound twice: MySQL and MariaDB disagree on how to name those of the insert.
    sqlx::query(concat!(
        "INSERT INTO idempotent_keys (`key`, job, inputs, status, owner, fence, attempts, last_error, \
         first_at, claimed_at) VALUES (?, ?, ?, 2, ?, 1, 1, ?, ",
        now!(),
        ", ",
        now!(),
        ") ON DUPLICATE KEY UPDATE job = IF(status = ",
        reserved!(),
        ", ?, job), inputs = IF(status = ",
        reserved!(),
        ", ?, inputs), lease_until = IF(status IN (0, ",
        reserved!(),
        "), NULL, lease_until), forget_at = IF(status IN (0, ",
        reserved!(),
        "), NULL, forget_at), last_error = IF(status IN (0, ",
        reserved!(),
        "), ?, last_error), status = IF(status IN (0, ",
        reserved!(),
        "), 2, status)"
    ))
    .bind(claim.key.as_str().as_bytes())
    .bind(claim.job.as_bytes())
    .bind(claim.inputs.map(str::as_bytes))
    .bind(&claim.owner[..])
    .bind(why.as_bytes())
    .bind(claim.job.as_bytes())
    .bind(claim.inputs.map(str::as_bytes))
    .bind(why.as_bytes())
    .execute(conn)
    .await
    .map(drop)
}
