//! Transactional jobs: the claim, how long it waits, and the completion.
//!
//! The row is the claim, and the primary key has the last word. Before it comes an advisory lock on the
//! key, which ends with the transaction as an uncommitted row does. It tells at once whether another
//! claim is under way, so that only a claim that has to wait sets a limit on its wait.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::transaction::idle_limit;
use super::{On, TransactionId, interval, lock_timeout};
use crate::ledger::record::{Claim, Claimed, Finish, Finished};

/// The number of a key among the database's advisory locks. Keys that share one wait for each other, and
/// no more comes of it.
macro_rules! lock_number {
    () => {
        "hashtextextended($1 COLLATE \"C\", 0)"
    };
}

/// The row of a key, from what comes after. The conflict target is named: a bare `DO NOTHING` would
/// swallow any constraint's violation.
macro_rules! insert {
    ($($from:expr),*) => {
        concat!(
            "INSERT INTO idempotent_keys \
               (key, job, inputs, status, owner, fence, attempts, first_at, claimed_at) \
             SELECT $1, $2, $3, 0, $4, 1, 1, clock_timestamp(), clock_timestamp() FROM ",
            $($from,)*
            " ON CONFLICT (key) DO NOTHING"
        )
    };
}

macro_rules! returning_number {
    () => {
        " RETURNING pg_current_xact_id()::text"
    };
}

/// A claim that does not wait for another one. Most are this one, so it sets no limit and gives back no
/// more than it must.
macro_rules! at_once {
    ($($and_sets:expr)?) => {
        insert!(
            "(SELECT pg_try_advisory_xact_lock(",
            lock_number!(),
            ") AS free",
            $(", ", $and_sets,)?
            " OFFSET 0) AS lock WHERE free"
        )
    };
}

/// A claim that waits its turn, for `$5`. The limit is of this statement alone: what was there before is
/// put back by the statement itself, so that it does not govern the body's. A failed or a lost claim is
/// rolled back, and the limit with it.
macro_rules! in_turn {
    ($($then:expr),*) => {
        concat!(
            "WITH turn AS MATERIALIZED ( \
               SELECT prior.value, set_config('lock_timeout', $5, true)",
            $(", ", $then,)*
            " FROM (SELECT current_setting('lock_timeout') AS value, \
                coalesce(nullif(current_setting('idempotent.joined', true), ''), '0')::integer \
                  AS joined OFFSET 0) AS prior) ",
            insert!("turn"),
            returning_number!(),
            ", set_config('lock_timeout', (SELECT value FROM turn), true)"
        )
    };
}

macro_rules! lock {
    () => {
        concat!("pg_advisory_xact_lock(", lock_number!(), ")")
    };
}

/// The lock of a job in a caller's transaction, which may be one of thousands there: the server has room
/// for some thousands of all sessions' locks. The others go without.
macro_rules! lock_of_a_few {
    () => {
        concat!(
            "CASE WHEN prior.joined < 64 THEN ",
            lock!(),
            " END, set_config('idempotent.joined', (prior.joined + 1)::text, true)"
        )
    };
}

/// Inserts the key's row. In turn, where another claim of it is under way, it waits for that one's
/// transaction: if it rolls back, the row is ours. In any case where none is inserted, another statement
/// has to read what is there (this one's snapshot is older).
pub(super) async fn claim(on: On<'_>, claim: &Claim<'_>) -> sqlx::Result<Claimed<TransactionId>> {
    let id = match (claim.in_turn, claim.joined) {
        (false, _) => claim_at_once(on, claim).await?,
        (true, false) => claim_in_turn(on, claim, in_turn!(lock!(), idle_limit!())).await?,
        (true, true) => claim_in_turn(on, claim, in_turn!(lock_of_a_few!())).await?,
    };
    Ok(id.map_or(Claimed::Taken(None), Claimed::Fresh))
}

async fn claim_at_once(on: On<'_>, claim: &Claim<'_>) -> sqlx::Result<Option<TransactionId>> {
    let values = |sql| {
        on.query(sql)
            .bind(claim.key.as_str())
            .bind(claim.job)
            .bind(claim.inputs)
            .bind(&claim.owner[..])
    };
    if claim.mark {
        // Behind the mark, which is a savepoint, the row does not have the transaction's number.
        let row = values(concat!(at_once!(), returning_number!())).fetch_optional(on.conn);
        return number(row.await?);
    }
    let done = values(at_once!(idle_limit!())).execute(on.conn).await?;
    Ok((done.rows_affected() == 1).then_some(TransactionId::OfTheRow))
}

async fn claim_in_turn(
    on: On<'_>,
    claim: &Claim<'_>,
    sql: &'static str,
) -> sqlx::Result<Option<TransactionId>> {
    let row = on
        .query(sql)
        .bind(claim.key.as_str())
        .bind(claim.job)
        .bind(claim.inputs)
        .bind(&claim.owner[..])
        .bind(lock_timeout(claim.lock_wait))
        .fetch_optional(on.conn)
        .await?;
    number(row)
}

fn number(row: Option<PgRow>) -> sqlx::Result<Option<TransactionId>> {
    row.map(|row| row.try_get(0).map(TransactionId::Number))
        .transpose()
}

macro_rules! finish {
    ($same_transaction:literal) => {
        concat!(
            "UPDATE idempotent_keys SET status = 1, result = $3, finished_at = clock_timestamp(), \
               forget_at = clock_timestamp() + $4 \
             WHERE key = $1 AND status = 0 AND owner = $2 AND ",
            $same_transaction
        )
    };
}

/// Fails in an aborted transaction, where a COMMIT alone would report success and keep nothing; and
/// finds no row outside of the claim's transaction, in whose place none or another may be open.
pub(super) async fn finish(
    on: On<'_>,
    claim: &Claim<'_>,
    id: &TransactionId,
    finish: &Finish<'_>,
) -> sqlx::Result<Finished> {
    let values = |sql| {
        on.query(sql)
            .bind(claim.key.as_str())
            .bind(&claim.owner[..])
            .bind(finish.result)
            .bind(finish.retain.map(interval))
    };
    let done = match id {
        TransactionId::OfTheRow => values(finish!("xmin = pg_current_xact_id_if_assigned()::xid")),
        TransactionId::Number(id) => {
            values(finish!("pg_current_xact_id_if_assigned()::text = $5")).bind(id)
        }
    };
    let done = done.execute(on.conn).await?;
    Ok(if done.rows_affected() == 1 {
        Finished::Done
    } else {
        Finished::Escaped
    })
}
