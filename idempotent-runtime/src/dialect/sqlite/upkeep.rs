//! Doubt, decisions on a key, and purging.

use sqlx::sqlite::SqliteConnection;

use crate::ledger::record::Claim;

pub(super) async fn doubt(
    conn: &mut SqliteConnection,
    claim: &Claim<'_>,
    why: &str,
) -> sqlx::Result<()> {
    sqlx::query(concat!(
        "INSERT INTO idempotent_keys (key, job, inputs, status, owner, fence, attempts, \
         last_error, first_at, claimed_at) SELECT ?, ?, ?, 2, ?, 1, 1, ?, now, now FROM (SELECT ",
        now!(),
        " AS now) WHERE true ON CONFLICT (key) DO UPDATE SET status = 2, lease_until = NULL, \
         last_error = excluded.last_error WHERE status = 0"
    ))
    .bind(claim.key.as_str())
    .bind(claim.job)
    .bind(claim.inputs)
    .bind(&claim.owner[..])
    .bind(why)
    .execute(conn)
    .await
    .map(drop)
}

pub(super) async fn resolve_done(
    conn: &mut SqliteConnection,
    key: &str,
    result: &[u8],
) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "UPDATE idempotent_keys SET status = 1, fence = fence + 1, lease_until = NULL, result = ?, \
         finished_at = ",
        now!(),
        " WHERE key = ? AND (status = 2 OR status = 0 AND coalesce(lease_until, 0) < ",
        now!(),
        ")"
    ))
    .bind(result)
    .bind(key)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn resolve_again(conn: &mut SqliteConnection, key: &str) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "DELETE FROM idempotent_keys WHERE key = ? AND \
         (status = 2 OR status = 0 AND coalesce(lease_until, 0) < ",
        now!(),
        ")"
    ))
    .bind(key)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn resolve_forget(conn: &mut SqliteConnection, key: &str) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "DELETE FROM idempotent_keys WHERE key = ? AND (status <> 0 OR coalesce(lease_until, 0) < ",
        now!(),
        ")"
    ))
    .bind(key)
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query("DELETE FROM idempotent_steps WHERE key = ?")
        .bind(key)
        .execute(conn)
        .await?;
    Ok(true)
}

pub(super) async fn purge(conn: &mut SqliteConnection, limit: u32) -> sqlx::Result<u64> {
    // One instant for both statements, or a key could go and leave its steps.
    let now: i64 = sqlx::query_scalar(concat!("SELECT ", now!()))
        .fetch_one(&mut *conn)
        .await?;
    sqlx::query(
        "DELETE FROM idempotent_steps WHERE key IN (SELECT key FROM idempotent_keys \
         WHERE forget_at < ? AND status = 1 ORDER BY forget_at, key LIMIT ?)",
    )
    .bind(now)
    .bind(limit)
    .execute(&mut *conn)
    .await?;
    let done = sqlx::query(
        "DELETE FROM idempotent_keys WHERE key IN (SELECT key FROM idempotent_keys \
         WHERE forget_at < ? AND status = 1 ORDER BY forget_at, key LIMIT ?)",
    )
    .bind(now)
    .bind(limit)
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
