//! Transactional jobs: the claim, how long it waits, and the completion.

use sqlx::Row;

use super::transaction::idle_limit;
use super::{On, TransactionId, interval, lock_timeout};
use crate::ledger::record::{Claim, Claimed, Finish, Finished};

/// The claim, with what else it sets on the way.
macro_rules! claim {
    ($and_sets:expr) => {
        concat!(
            "WITH waiting AS MATERIALIZED ( \
               SELECT prior.value, set_config('lock_timeout', $5, true)",
            $and_sets,
            " FROM (SELECT current_setting('lock_timeout') AS value OFFSET 0) AS prior) \
             INSERT INTO idempotent_keys \
               (key, job, inputs, status, owner, fence, attempts, first_at, claimed_at) \
             SELECT $1, $2, $3, 0, $4, 1, 1, clock_timestamp(), clock_timestamp() FROM waiting \
             ON CONFLICT (key) DO NOTHING \
             RETURNING pg_current_xact_id()::text, \
               set_config('lock_timeout', (SELECT value FROM waiting), true)"
        )
    };
}

/// Inserts the key's row, or waits for the transaction that has inserted it: if that one rolls back,
/// the row is ours; if it commits, none is returned, and another statement has to read it (this
/// one's snapshot is older).
///
/// The wait is limited for this statement alone: the limit that was there before is put back by the
/// statement itself, so that it does not govern the body's. A failed or a lost claim is rolled back,
/// and the limit with it.
///
/// The conflict target is named: a bare `DO NOTHING` would swallow any constraint's violation.
pub(super) async fn claim(on: On<'_>, claim: &Claim<'_>) -> sqlx::Result<Claimed<TransactionId>> {
    // A caller's transaction keeps its own limits.
    let sql = if claim.joined {
        claim!("")
    } else {
        claim!(concat!(", ", idle_limit!()))
    };
    let row = on
        .query(sql)
        .bind(claim.key.as_str())
        .bind(claim.job)
        .bind(claim.inputs)
        .bind(&claim.owner[..])
        .bind(lock_timeout(claim.lock_wait))
        .fetch_optional(on.conn)
        .await?;
    match row {
        Some(row) => Ok(Claimed::Fresh(TransactionId(row.try_get(0)?))),
        None => Ok(Claimed::Taken(None)),
    }
}

/// Fails in an aborted transaction, where a COMMIT alone would report success and keep nothing; and
/// finds no row outside of the claim's transaction, in whose place none or another may be open.
pub(super) async fn finish(
    on: On<'_>,
    claim: &Claim<'_>,
    TransactionId(id): &TransactionId,
    finish: &Finish<'_>,
) -> sqlx::Result<Finished> {
    let done = on
        .query(
            "UPDATE idempotent_keys SET status = 1, result = $3, finished_at = clock_timestamp(), \
           forget_at = clock_timestamp() + $4 \
         WHERE key = $1 AND status = 0 AND owner = $2 \
           AND pg_current_xact_id_if_assigned()::text = $5",
        )
        .bind(claim.key.as_str())
        .bind(&claim.owner[..])
        .bind(finish.result)
        .bind(finish.retain.map(interval))
        .bind(id)
        .execute(on.conn)
        .await?;
    Ok(if done.rows_affected() == 1 {
        Finished::Done
    } else {
        Finished::Escaped
    })
}
