//! The savepoints by which an escape of the body shows.
//!
//! A raw COMMIT or ROLLBACK, and every statement that commits by itself (DDL), ends the transaction
//! and its savepoints: naming one of them again fails. So does a deadlock (1213), which undoes the
//! whole transaction, after which statements run by themselves.
//!
//! In a transaction of ours the mark comes with the BEGIN. In a caller's it is set next to the
//! savepoint that sqlx opens for the job, which stays to go back to; both names grow with the depth,
//! for MariaDB's RELEASE loses its way among savepoints of one name.

use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::mysql::{MySqlConnection, MySqlTransactionManager};
use sqlx::{AssertSqlSafe, Row, SqlSafeStr};
use sqlx_core::transaction::{TransactionManager as _, rollback_ansi_transaction_sql};

use super::fault::{GAVE_WAY, NO_SAVEPOINT, SYNTAX, UNDONE, number};
use crate::ledger::record::Standing;

fn depth(conn: &MySqlConnection) -> usize {
    MySqlTransactionManager::get_transaction_depth(conn)
}

/// Sets the mark of a job in a caller's transaction.
pub(super) async fn mark(conn: &mut MySqlConnection) -> sqlx::Result<()> {
    let sql = AssertSqlSafe(format!("SAVEPOINT {}", joined_mark(conn)));
    sqlx::raw_sql(sql).execute(conn).await.map(drop)
}

fn joined_mark(conn: &MySqlConnection) -> String {
    format!("idempotent_mark_{}", depth(conn))
}

/// Whether the mark is there, before the job's last statement; outside of the transaction that one
/// would commit by itself.
pub(super) async fn check(conn: &mut MySqlConnection, joined: bool) -> sqlx::Result<bool> {
    let sql = if joined {
        AssertSqlSafe(format!("RELEASE SAVEPOINT {}", joined_mark(conn))).into_sql_str()
    } else {
        "RELEASE SAVEPOINT idempotent_mark".into_sql_str()
    };
    there(sqlx::raw_sql(sql).execute(conn).await.map(drop))
}

fn there(done: sqlx::Result<()>) -> sqlx::Result<bool> {
    found(done).map(|done| done.is_some())
}

/// What a statement that needs the mark gave, or nothing where the mark is gone.
pub(super) fn found<T>(done: sqlx::Result<T>) -> sqlx::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if number(&error) == Some(NO_SAVEPOINT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether servers take a block of statements as one (MariaDB does, MySQL does not), as far as this
/// process has seen.
static BLOCKS: AtomicBool = AtomicBool::new(true);

/// What a block of statements gave, or nothing where the server does not know blocks: it has done
/// nothing then.
pub(super) fn block<T>(done: sqlx::Result<T>) -> Option<sqlx::Result<T>> {
    match done {
        Err(error) if number(&error) == Some(SYNTAX) => {
            BLOCKS.store(false, Ordering::Relaxed);
            None
        }
        done => Some(done),
    }
}

pub(super) fn has_blocks() -> bool {
    BLOCKS.load(Ordering::Relaxed)
}

/// Checks the mark of a transaction of ours, and sends the job's last statement: in one round trip
/// where the server takes both in a block, which ends at the mark where that is gone. Gives what the
/// statement did, or nothing without a mark.
///
/// A macro, for the block has to be a literal like the statement.
macro_rules! last_statement {
    ($conn:expr, $values:expr, $statement:expr) => {{
        let mut done = None;
        if mark::has_blocks() {
            let block = concat!(
                "BEGIN NOT ATOMIC RELEASE SAVEPOINT idempotent_mark; ",
                $statement,
                "; END"
            );
            done = mark::block($values(block).execute(&mut *$conn).await);
        }
        match done {
            Some(done) => mark::found(done)?,
            None if mark::check($conn, false).await? => {
                Some($values($statement).execute($conn).await?)
            }
            None => None,
        }
    }};
}

pub(super) use last_statement;

/// What has become of the transaction of a body that failed.
pub(super) async fn standing(conn: &mut MySqlConnection, joined: bool) -> sqlx::Result<Standing> {
    // What the last statement ended with; asking does not change it, so that the jobs around this
    // one see it too.
    let last = match sqlx::raw_sql("SHOW ERRORS")
        .fetch_optional(&mut *conn)
        .await
    {
        // The answer to what a job within this one was left to undo: its savepoint is gone, and with
        // it all that came before. That job has noted whether the database undid it.
        Err(error) if number(&error) == Some(NO_SAVEPOINT) => {
            let undone: Option<i64> = sqlx::query_scalar("SELECT @idempotent_undone")
                .fetch_one(conn)
                .await?;
            return Ok(match undone {
                Some(_) => Standing::Undone,
                None => Standing::Escaped,
            });
        }
        last => last?,
    };
    let last: Option<i64> = last.map(|row| row.try_get_unchecked(1)).transpose()?;
    let gave_way =
        |codes: &[u16]| last.is_some_and(|last| codes.iter().any(|code| i64::from(*code) == last));
    let standing = if gave_way(GAVE_WAY) {
        Standing::Undone
    } else {
        match there(go_back(conn, joined).await)? {
            true => Standing::Open,
            false if gave_way(UNDONE) => Standing::Undone,
            false => Standing::Escaped,
        }
    };
    if joined && standing == Standing::Undone {
        // For the jobs around this one; their begin has cleared it.
        sqlx::raw_sql("SET @idempotent_undone = 1")
            .execute(conn)
            .await?;
    }
    Ok(standing)
}

/// Undoes what came after the mark. The claim goes with it: what is undone here leaves no key behind
/// in any case.
pub(super) async fn go_back(conn: &mut MySqlConnection, joined: bool) -> sqlx::Result<()> {
    let undo = if joined {
        rollback_ansi_transaction_sql(depth(conn))
    } else {
        "ROLLBACK TO SAVEPOINT idempotent_mark".into_sql_str()
    };
    sqlx::raw_sql(undo).execute(conn).await.map(drop)
}
