//! Claims: an insert that another claim's row makes wait, or fail.
//!
//! An `INSERT` that queues behind an uncommitted row asks for a shared lock on it. When that row's
//! transaction rolls back, all who queue get the lock at once, each needs it exclusively, and all but
//! one give way (1213). So a claim that begins its own transaction does not queue (it holds nothing
//! that others could wait for; the ledger comes again after a pause), and only a claim inside a
//! caller's transaction does, for there a cycle of jobs has to be found. MySQL cannot be told not to
//! queue for one statement: there a claim that gave way has its row [put down](reserve) first, and
//! then changes it, for which there is one exclusive lock and no cycle.

use std::time::Duration;

use sqlx::mysql::{MySqlConnection, MySqlQueryResult};

use super::fault::{DUPLICATE, number};
use super::mark;
use super::sql::{Found, found, micros, now, record, reserved};
use crate::ledger::record::{Attempt, Claim, Claimed, Record};

/// Queues for a lock for no time, on MariaDB; leaves nothing set behind.
macro_rules! at_once {
    () => {
        "/*M!100300 SET STATEMENT innodb_lock_wait_timeout = 0 FOR */ "
    };
}

/// Queues for a lock for a second, on MariaDB: the ledger counts the seconds.
macro_rules! a_second {
    () => {
        "/*M!100300 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */ "
    };
}

macro_rules! insert {
    () => {
        "INSERT INTO idempotent_keys (job, inputs, owner, `key`, status, fence, attempts, first_at, \
         claimed_at) VALUES (?, ?, ?, ?, 0, 1, 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))"
    };
}

macro_rules! change_reserved {
    () => {
        concat!(
            "UPDATE idempotent_keys SET job = ?, inputs = ?, owner = ?, status = 0, fence = 1, \
             attempts = 1, first_at = UTC_TIMESTAMP(6), claimed_at = UTC_TIMESTAMP(6), \
             forget_at = NULL WHERE `key` = ? AND status = ",
            reserved!()
        )
    };
}

pub(super) async fn read(conn: &mut MySqlConnection, key: &str) -> sqlx::Result<Option<Record>> {
    Ok(match look(conn, key).await? {
        Found::Record(record) => Some(record),
        Found::Nothing | Found::Reserved => None,
    })
}

async fn look(conn: &mut MySqlConnection, key: &str) -> sqlx::Result<Found> {
    let row = sqlx::query(concat!(
        "SELECT ",
        record!(),
        " FROM idempotent_keys WHERE `key` = ?"
    ))
    .bind(key.as_bytes())
    .fetch_optional(conn)
    .await?;
    found(row.as_ref())
}

/// Looks at the row as it is now, where the transaction's snapshot may be older. The insert that
/// found it holds the shared lock already.
async fn look_past_the_snapshot(conn: &mut MySqlConnection, key: &str) -> sqlx::Result<Found> {
    let row = sqlx::query(concat!(
        "SELECT ",
        record!(),
        " FROM idempotent_keys WHERE `key` = ? LOCK IN SHARE MODE"
    ))
    .bind(key.as_bytes())
    .fetch_optional(conn)
    .await?;
    found(row.as_ref())
}

pub(super) async fn claim(
    conn: &mut MySqlConnection,
    claim: &Claim<'_>,
) -> sqlx::Result<Claimed<()>> {
    if claim.joined {
        mark::mark(conn).await?;
    }
    if claim.reserved {
        return change(conn, concat!(at_once!(), change_reserved!()), claim).await;
    }
    let queues = claim.joined && claim.lock_wait >= Duration::from_secs(1);
    let insert = if queues {
        concat!(a_second!(), insert!())
    } else {
        concat!(at_once!(), insert!())
    };
    match write(conn, insert, claim).await {
        Ok(_) => return Ok(Claimed::Fresh(())),
        Err(error) if number(&error) == Some(DUPLICATE) => {}
        Err(error) => return Err(error),
    }
    let key = claim.key.as_str();
    let found = if claim.joined {
        look_past_the_snapshot(conn, key).await?
    } else {
        look(conn, key).await?
    };
    match found {
        Found::Record(record) => Ok(Claimed::Taken(Some(record))),
        Found::Nothing => Ok(Claimed::Taken(None)),
        Found::Reserved if queues => {
            change(conn, concat!(a_second!(), change_reserved!()), claim).await
        }
        Found::Reserved => change(conn, concat!(at_once!(), change_reserved!()), claim).await,
    }
}

/// Claims a reserved row; where it is not (any more), the row that is there.
async fn change(
    conn: &mut MySqlConnection,
    update: &'static str,
    claim: &Claim<'_>,
) -> sqlx::Result<Claimed<()>> {
    if write(conn, update, claim).await?.rows_affected() == 1 {
        return Ok(Claimed::Fresh(()));
    }
    let key = claim.key.as_str();
    let found = if claim.joined {
        look_past_the_snapshot(conn, key).await?
    } else {
        look(conn, key).await?
    };
    Ok(Claimed::Taken(match found {
        Found::Record(record) => Some(record),
        Found::Nothing | Found::Reserved => None,
    }))
}

/// Both statements of a claim take the same values.
async fn write(
    conn: &mut MySqlConnection,
    statement: &'static str,
    claim: &Claim<'_>,
) -> sqlx::Result<MySqlQueryResult> {
    sqlx::query(statement)
        .bind(claim.job.as_bytes())
        .bind(claim.inputs.map(str::as_bytes))
        .bind(&claim.owner[..])
        .bind(claim.key.as_str().as_bytes())
        .execute(conn)
        .await
}

/// A reserved row that no claim ever completes goes with the next purge after a day.
pub(super) async fn reserve(conn: &mut MySqlConnection, claim: &Claim<'_>) -> sqlx::Result<()> {
    sqlx::query(concat!(
        "INSERT IGNORE INTO idempotent_keys (`key`, job, status, owner, fence, attempts, first_at, \
         claimed_at, forget_at) VALUES (?, ?, ",
        reserved!(),
        ", ?, 0, 0, ",
        now!(),
        ", ",
        now!(),
        ", ",
        now!(),
        " + INTERVAL 1 DAY)"
    ))
    .bind(claim.key.as_str().as_bytes())
    .bind(claim.job.as_bytes())
    .bind(&claim.owner[..])
    .execute(conn)
    .await
    .map(drop)
}

pub(super) async fn lease(
    conn: &mut MySqlConnection,
    claim: &Claim<'_>,
    lease: Duration,
) -> sqlx::Result<Option<Attempt>> {
    const FIRST: Attempt = Attempt {
        fence: 1,
        number: 1,
    };

    let fresh = write_lease(
        conn,
        concat!(
            at_once!(),
            "INSERT INTO idempotent_keys (job, inputs, owner, lease_until, `key`, status, fence, \
             attempts, first_at, claimed_at) VALUES (?, ?, ?, ",
            now!(),
            " + INTERVAL ? MICROSECOND, ?, 0, 1, 1, ",
            now!(),
            ", ",
            now!(),
            ")"
        ),
        claim,
        lease,
    )
    .await;
    match fresh {
        Ok(_) => return Ok(Some(FIRST)),
        Err(error) if number(&error) == Some(DUPLICATE) => {}
        Err(error) => return Err(error),
    }
    let changed = write_lease(
        conn,
        concat!(
            at_once!(),
            "UPDATE idempotent_keys SET job = ?, inputs = ?, owner = ?, lease_until = ",
            now!(),
            " + INTERVAL ? MICROSECOND, status = 0, fence = 1, attempts = 1, first_at = ",
            now!(),
            ", claimed_at = ",
            now!(),
            ", forget_at = NULL WHERE `key` = ? AND status = ",
            reserved!()
        ),
        claim,
        lease,
    )
    .await?;
    Ok((changed.rows_affected() == 1).then_some(FIRST))
}

async fn write_lease(
    conn: &mut MySqlConnection,
    statement: &'static str,
    claim: &Claim<'_>,
    lease: Duration,
) -> sqlx::Result<MySqlQueryResult> {
    sqlx::query(statement)
        .bind(claim.job.as_bytes())
        .bind(claim.inputs.map(str::as_bytes))
        .bind(&claim.owner[..])
        .bind(micros(lease))
        .bind(claim.key.as_str().as_bytes())
        .execute(conn)
        .await
}

pub(super) async fn take_over(
    conn: &mut MySqlConnection,
    claim: &Claim<'_>,
    lease: Duration,
    seen: i64,
) -> sqlx::Result<Option<Attempt>> {
    let taken = sqlx::query(concat!(
        "UPDATE idempotent_keys SET owner = ?, fence = fence + 1, attempts = attempts + 1, \
         claimed_at = ",
        now!(),
        ", lease_until = ",
        now!(),
        " + INTERVAL ? MICROSECOND WHERE `key` = ? AND status = 0 AND fence = ? AND lease_until < ",
        now!()
    ))
    .bind(&claim.owner[..])
    .bind(micros(lease))
    .bind(claim.key.as_str().as_bytes())
    .bind(seen)
    .execute(&mut *conn)
    .await?;
    if taken.rows_affected() != 1 {
        return Ok(None);
    }
    // There is no RETURNING for an UPDATE. The number of attempts is read from the row while it is
    // still this attempt's; the fence is known.
    let number = sqlx::query_scalar(
        "SELECT attempts FROM idempotent_keys WHERE `key` = ? AND owner = ? AND fence = ?",
    )
    .bind(claim.key.as_str().as_bytes())
    .bind(&claim.owner[..])
    .bind(seen + 1)
    .fetch_optional(conn)
    .await?;
    Ok(number.map(|number| Attempt {
        fence: seen + 1,
        number,
    }))
}
