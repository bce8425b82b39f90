//! Leases: claimed, taken over, renewed, released, completed.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::claim::{if_marked, last_statement};
use crate::dialect::millis;
use crate::ledger::record::{Attempt, Claim, Finish, Finished, Holder};

pub(super) async fn lease(
    conn: &mut SqliteConnection,
    claim: &Claim<'_>,
    lease: Duration,
) -> sqlx::Result<Option<Attempt>> {
    let row = sqlx::query(concat!(
        "INSERT INTO idempotent_keys (key, job, inputs, status, owner, fence, attempts, \
         lease_until, first_at, claimed_at) SELECT ?, ?, ?, 0, ?, 1, 1, now + ?, now, now FROM \
         (SELECT ",
        now!(),
        " AS now) WHERE true ON CONFLICT (key) DO NOTHING RETURNING fence, attempts"
    ))
    .bind(claim.key.as_str())
    .bind(claim.job)
    .bind(claim.inputs)
    .bind(&claim.owner[..])
    .bind(millis(lease))
    .fetch_optional(conn)
    .await?;
    row.map(|row| attempt(&row)).transpose()
}

pub(super) async fn take_over(
    conn: &mut SqliteConnection,
    claim: &Claim<'_>,
    lease: Duration,
    seen: i64,
) -> sqlx::Result<Option<Attempt>> {
    let row = sqlx::query(concat!(
        "UPDATE idempotent_keys SET owner = ?, fence = fence + 1, attempts = attempts + 1, \
         claimed_at = ",
        now!(),
        ", lease_until = ",
        now!(),
        " + ? WHERE key = ? AND status = 0 AND fence = ? AND lease_until < ",
        now!(),
        " RETURNING fence, attempts"
    ))
    .bind(&claim.owner[..])
    .bind(millis(lease))
    .bind(claim.key.as_str())
    .bind(seen)
    .fetch_optional(conn)
    .await?;
    row.map(|row| attempt(&row)).transpose()
}

pub(super) async fn renew(
    conn: &mut SqliteConnection,
    key: &str,
    holder: &Holder,
    lease: Duration,
) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "UPDATE idempotent_keys SET lease_until = ",
        now!(),
        " + ? WHERE key = ? AND status = 0 AND owner = ? AND fence = ?"
    ))
    .bind(millis(lease))
    .bind(key)
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn release(
    conn: &mut SqliteConnection,
    key: &str,
    holder: &Holder,
    why: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE idempotent_keys SET lease_until = 0, last_error = ? \
         WHERE key = ? AND status = 0 AND owner = ? AND fence = ?",
    )
    .bind(why)
    .bind(key)
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn discard(
    conn: &mut SqliteConnection,
    key: &str,
    holder: &Holder,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "DELETE FROM idempotent_keys WHERE key = ? AND status = 0 AND owner = ? AND fence = ?",
    )
    .bind(key)
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn finish_lease(
    conn: &mut SqliteConnection,
    key: &str,
    holder: &Holder,
    finish: &Finish<'_>,
) -> sqlx::Result<Finished> {
    // A row says that the update met one: the count would be that of the statement before, too.
    let done: sqlx::Result<Option<i64>> = sqlx::query_scalar(last_statement!(concat!(
        "UPDATE idempotent_keys SET status = 1, lease_until = NULL, result = ?, last_error = NULL, \
         finished_at = ",
        now!(),
        ", forget_at = ",
        now!(),
        " + ? WHERE key = ? AND status = 0 AND owner = ? AND fence = ? RETURNING fence"
    )))
    .bind(finish.result)
    .bind(finish.retain.map(millis))
    .bind(key)
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .fetch_optional(conn)
    .await;
    Ok(match if_marked(done)? {
        Some(Some(_)) => Finished::Done,
        Some(None) => Finished::Lost,
        None => Finished::Escaped,
    })
}

fn attempt(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Attempt> {
    Ok(Attempt {
        fence: row.try_get("fence")?,
        number: row.try_get("attempts")?,
    })
}
