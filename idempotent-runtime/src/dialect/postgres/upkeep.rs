//! Reading, resolving and forgetting keys.

use std::time::Duration;

use sqlx::Row;

use super::{On, lock_timeout};
use crate::ledger::record::{Claim, Lease, Record, Status};
use crate::store::WRITER_WAIT;

pub(super) async fn read(on: On<'_>, key: &str) -> sqlx::Result<Option<Record>> {
    let row = on
        .query(
            "SELECT job, inputs, status, owner, fence, \
           (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint AS lease_left, \
           (extract(epoch FROM clock_timestamp() - first_at) * 1000)::bigint AS age, \
           result, last_error \
         FROM idempotent_keys WHERE key = $1",
        )
        .bind(key)
        .fetch_optional(on.conn)
        .await?;
    row.map(|row| {
        Ok(Record {
            job: row.try_get("job")?,
            inputs: row.try_get("inputs")?,
            status: Status::from_number(row.try_get("status")?),
            owner: row.try_get("owner")?,
            fence: row.try_get("fence")?,
            lease: Lease::from_left(row.try_get("lease_left")?),
            age: Duration::from_millis(
                u64::try_from(row.try_get::<i64, _>("age")?).unwrap_or_default(),
            ),
            result: row.try_get("result")?,
            last_error: row.try_get("last_error")?,
        })
    })
    .transpose()
}

/// The row may be there, committed by the body, or not, rolled back by it; or another attempt has
/// claimed the key since, and is waited for.
pub(super) async fn doubt(on: On<'_>, claim: &Claim<'_>, why: &str) -> sqlx::Result<()> {
    on.query(
        "WITH waiting AS MATERIALIZED (SELECT set_config('lock_timeout', $6, true)) \
         INSERT INTO idempotent_keys AS k \
           (key, job, inputs, status, owner, fence, attempts, last_error, first_at, claimed_at) \
         SELECT $1, $2, $3, 2, $4, 1, 1, $5, clock_timestamp(), clock_timestamp() FROM waiting \
         ON CONFLICT (key) DO UPDATE SET status = 2, lease_until = NULL, \
           last_error = excluded.last_error WHERE k.status = 0",
    )
    .bind(claim.key.as_str())
    .bind(claim.job)
    .bind(claim.inputs)
    .bind(&claim.owner[..])
    .bind(why)
    .bind(lock_timeout(WRITER_WAIT))
    .execute(on.conn)
    .await
    .map(drop)
}

pub(super) async fn resolve_done(on: On<'_>, key: &str, result: &[u8]) -> sqlx::Result<bool> {
    let done = on
        .query(
            "UPDATE idempotent_keys SET status = 1, fence = fence + 1, lease_until = NULL, \
           result = $2, finished_at = clock_timestamp() \
         WHERE key = $1 AND (status = 2 OR status = 0 \
           AND coalesce(lease_until, to_timestamp(0)) < clock_timestamp())",
        )
        .bind(key)
        .bind(result)
        .execute(on.conn)
        .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn resolve_again(on: On<'_>, key: &str) -> sqlx::Result<bool> {
    let done = on
        .query(
            "DELETE FROM idempotent_keys WHERE key = $1 AND (status = 2 OR status = 0 \
           AND coalesce(lease_until, to_timestamp(0)) < clock_timestamp())",
        )
        .bind(key)
        .execute(on.conn)
        .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn resolve_forget(on: On<'_>, key: &str) -> sqlx::Result<bool> {
    let forgotten: i64 = on
        .scalar(
            "WITH gone AS (DELETE FROM idempotent_keys WHERE key = $1 AND (status <> 0 \
           OR coalesce(lease_until, to_timestamp(0)) < clock_timestamp()) RETURNING key), \
         steps AS (DELETE FROM idempotent_steps s USING gone WHERE s.key = gone.key) \
         SELECT count(*) FROM gone",
        )
        .bind(key)
        .fetch_one(on.conn)
        .await?;
    Ok(forgotten == 1)
}

/// Passes over rows that somebody has locked: the next call gets them. (The clock is read in a
/// subquery, for a volatile function cannot be looked up in an index.)
pub(super) async fn purge(on: On<'_>, limit: u32) -> sqlx::Result<u64> {
    let done = on
        .query(
            "WITH old AS MATERIALIZED (SELECT key FROM idempotent_keys \
           WHERE forget_at < (SELECT clock_timestamp()) AND status = 1 \
           ORDER BY forget_at LIMIT $1 FOR UPDATE SKIP LOCKED), \
         steps AS (DELETE FROM idempotent_steps s USING old WHERE s.key = old.key) \
         DELETE FROM idempotent_keys k USING old WHERE k.key = old.key",
        )
        .bind(i64::from(limit))
        .execute(on.conn)
        .await?;
    Ok(done.rows_affected())
}
