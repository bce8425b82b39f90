//! How transactions begin, and how an escape from one shows.

use sqlx::{Database, Postgres, Row, SqlSafeStr, SqlStr};
use sqlx_core::transaction::{TransactionManager as _, rollback_ansi_transaction_sql};

use super::{On, TransactionId};
use crate::ledger::record::{Claim, Finished, Standing};

type Manager = <Postgres as Database>::TransactionManager;

/// Lets the server end the transaction of a process that stands still, or a stopped worker would hold
/// its key for ever. Where the session has a limit of its own, that one holds.
macro_rules! idle_limit {
    () => {
        "CASE current_setting('idle_in_transaction_session_timeout') WHEN '0' \
         THEN set_config('idle_in_transaction_session_timeout', '60s', true) END"
    };
}

pub(super) use idle_limit;

/// Begins at READ COMMITTED whatever the session's default, in one round trip. Nothing else comes
/// with it where the claim is next, for each further statement here is parsed and planned anew every
/// time, and what it would set, the claim sets.
///
/// The mark is a savepoint, to which a failed body is undone, and a setting that ends with the
/// transaction: the completion of a leased job looks at it in its own statement.
pub(super) fn begin(mark: bool) -> SqlStr {
    if mark {
        concat!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; \
             SELECT set_config('idempotent.mark', 'open', true), ",
            idle_limit!(),
            "; SAVEPOINT idempotent_mark"
        )
        .into_sql_str()
    } else {
        "BEGIN ISOLATION LEVEL READ COMMITTED".into_sql_str()
    }
}

/// Whether a transaction is open that an earlier message began. (In the simple protocol: a statement
/// in two messages would be in none twice.)
pub(super) async fn is_raw(on: On<'_>) -> sqlx::Result<bool> {
    let row = sqlx::raw_sql("SELECT now() <> statement_timestamp()")
        .fetch_one(on.conn)
        .await?;
    row.try_get(0)
}

/// Undoes what came after the mark; works in a transaction that an error has aborted, too.
///
/// A joined job's mark is the savepoint that it runs in. Its claim goes with the body's writes: what
/// is undone here leaves no key behind in any case.
pub(super) async fn back_to_mark(on: On<'_>, joined: bool) -> sqlx::Result<()> {
    let undo = if joined {
        rollback_ansi_transaction_sql(Manager::get_transaction_depth(on.conn))
    } else {
        "ROLLBACK TO SAVEPOINT idempotent_mark".into_sql_str()
    };
    sqlx::raw_sql(undo).execute(on.conn).await.map(drop)
}

pub(super) async fn check_deferred(on: On<'_>) -> sqlx::Result<()> {
    on.query("SET CONSTRAINTS ALL IMMEDIATE")
        .execute(on.conn)
        .await
        .map(drop)
}

/// Why a marked transaction's last statement found no row: the key is another attempt's, or the
/// transaction another one.
pub(super) async fn lost_or_escaped(on: On<'_>) -> sqlx::Result<Finished> {
    let marked: Option<bool> = on
        .scalar("SELECT current_setting('idempotent.mark', true) = 'open'")
        .fetch_one(on.conn)
        .await?;
    Ok(if marked == Some(true) {
        Finished::Lost
    } else {
        Finished::Escaped
    })
}

/// Whether the transaction that a failed body leaves is the one that it was given.
pub(super) async fn still_ours(
    on: On<'_>,
    claim: &Claim<'_>,
    token: Option<&TransactionId>,
) -> sqlx::Result<Standing> {
    if token.is_some() && !claim.mark && !claim.joined {
        return still_unmarked(on, claim).await;
    }
    match back_to_mark(on, claim.joined).await {
        Ok(()) => Ok(Standing::Open),
        // No such savepoint; no transaction at all.
        Err(error) if has_code(&error, &["3B001", "25P01"]) => Ok(Standing::Escaped),
        Err(error) => Err(error),
    }
}

/// The same without a mark: by the row of the claim.
async fn still_unmarked(mut on: On<'_>, claim: &Claim<'_>) -> sqlx::Result<Standing> {
    let claimed_here = claimed(
        on.again(),
        claim,
        "SELECT EXISTS (SELECT FROM idempotent_keys WHERE key = $1 AND owner = $2 \
           AND xmin = pg_current_xact_id_if_assigned()::xid)",
    );
    match claimed_here.await {
        Ok(true) => return Ok(Standing::Open),
        Ok(false) => return Ok(Standing::Escaped),
        Err(error) if !has_code(&error, &["25P02"]) => return Err(error),
        Err(_) => {}
    }
    // Aborted by an error, and silent until it is rolled back; then only a commit of the body's own
    // has left the row.
    Manager::rollback(on.conn).await?;
    if on.pooled {
        Manager::begin(on.conn, Some("BEGIN".into_sql_str())).await?;
    }
    let committed = claimed(
        on,
        claim,
        "SELECT EXISTS (SELECT FROM idempotent_keys WHERE key = $1 AND owner = $2)",
    );
    Ok(match committed.await? {
        true => Standing::Escaped,
        false => Standing::Open,
    })
}

async fn claimed(on: On<'_>, claim: &Claim<'_>, sql: &'static str) -> sqlx::Result<bool> {
    on.scalar(sql)
        .bind(claim.key.as_str())
        .bind(&claim.owner[..])
        .fetch_one(on.conn)
        .await
}

pub(super) fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| codes.contains(&&*code))
}
