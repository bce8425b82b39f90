//! Leased jobs: statements that commit by themselves, and the completion.

use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::{On, interval, lock_timeout, transaction};
use crate::ledger::record::{Attempt, Claim, Finish, Finished, Holder};

/// On a conflict with a committed row this takes no lock and writes nothing.
pub(super) async fn lease(
    on: On<'_>,
    claim: &Claim<'_>,
    lease: Duration,
) -> sqlx::Result<Option<Attempt>> {
    let row = on
        .query(
            "WITH waiting AS MATERIALIZED (SELECT set_config('lock_timeout', $6, true)) \
         INSERT INTO idempotent_keys \
           (key, job, inputs, status, owner, fence, attempts, lease_until, first_at, claimed_at) \
         SELECT $1, $2, $3, 0, $4, 1, 1, clock_timestamp() + $5, clock_timestamp(), \
           clock_timestamp() FROM waiting \
         ON CONFLICT (key) DO NOTHING RETURNING fence, attempts",
        )
        .bind(claim.key.as_str())
        .bind(claim.job)
        .bind(claim.inputs)
        .bind(&claim.owner[..])
        .bind(interval(lease))
        .bind(lock_timeout(claim.lock_wait))
        .fetch_optional(on.conn)
        .await?;
    row.map(|row| attempt(&row)).transpose()
}

pub(super) async fn take_over(
    on: On<'_>,
    claim: &Claim<'_>,
    lease: Duration,
    seen: i64,
) -> sqlx::Result<Option<Attempt>> {
    let row = on
        .query(
            "UPDATE idempotent_keys SET owner = $3, fence = fence + 1, attempts = attempts + 1, \
           claimed_at = clock_timestamp(), lease_until = clock_timestamp() + $4 \
         WHERE key = $1 AND status = 0 AND fence = $2 AND lease_until < clock_timestamp() \
         RETURNING fence, attempts",
        )
        .bind(claim.key.as_str())
        .bind(seen)
        .bind(&claim.owner[..])
        .bind(interval(lease))
        .fetch_optional(on.conn)
        .await?;
    row.map(|row| attempt(&row)).transpose()
}

pub(super) async fn renew(
    on: On<'_>,
    key: &str,
    holder: &Holder,
    lease: Duration,
) -> sqlx::Result<bool> {
    let done = on
        .query(
            "UPDATE idempotent_keys SET lease_until = clock_timestamp() + $4 \
         WHERE key = $1 AND status = 0 AND owner = $2 AND fence = $3",
        )
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .bind(interval(lease))
        .execute(on.conn)
        .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn release(
    on: On<'_>,
    key: &str,
    holder: &Holder,
    why: &str,
) -> sqlx::Result<bool> {
    let done = on
        .query(
            "UPDATE idempotent_keys SET lease_until = to_timestamp(0), last_error = $4 \
         WHERE key = $1 AND status = 0 AND owner = $2 AND fence = $3",
        )
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .bind(why)
        .execute(on.conn)
        .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn discard(on: On<'_>, key: &str, holder: &Holder) -> sqlx::Result<bool> {
    let done = on.query(
        "DELETE FROM idempotent_keys WHERE key = $1 AND status = 0 AND owner = $2 AND fence = $3",
    )
    .bind(key)
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(on.conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The only statement of the completion transaction that locks the key's row: before it, heartbeats
/// would wait for the job, and the job for them. Outside of the transaction the mark is not set, so
/// that nothing is recorded there.
pub(super) async fn finish(
    on: On<'_>,
    key: &str,
    holder: &Holder,
    finish: &Finish<'_>,
) -> sqlx::Result<Finished> {
    let done = on
        .query(
            "UPDATE idempotent_keys SET status = 1, lease_until = NULL, result = $4, \
           last_error = NULL, finished_at = clock_timestamp(), \
           forget_at = clock_timestamp() + $5 \
         WHERE key = $1 AND status = 0 AND owner = $2 AND fence = $3 \
           AND current_setting('idempotent.mark', true) = 'open'",
        )
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .bind(finish.result)
        .bind(finish.retain.map(interval))
        .execute(&mut *on.conn)
        .await?;
    if done.rows_affected() == 1 {
        return Ok(Finished::Done);
    }
    transaction::lost_or_escaped(on).await
}

fn attempt(row: &PgRow) -> sqlx::Result<Attempt> {
    Ok(Attempt {
        fence: row.try_get("fence")?,
        number: row.try_get("attempts")?,
    })
}
