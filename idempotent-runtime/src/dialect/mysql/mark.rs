//! The savepoints by which an escape of the body shows.
//!
//! A raw COMMIT or ROLLBACK, and every statement that commits by itself (DDL), ends the transaction
//! and its savepoints: naming one of them again fails. So does a deadlock (1213), which undoes the
//! whole transaction, after which statements run by themselves.
//!
//! In a transaction of ours the mark comes with the BEGIN. In a caller's it is set next to the
//! savepoint that sqlx opens for the job, which stays to go back to; both names grow with the depth,
//! for MariaDB's RELEASE loses its way among savepoints of one name.

use sqlx::mysql::{MySqlConnection, MySqlTransactionManager};
use sqlx::{AssertSqlSafe, Row, SqlSafeStr};
use sqlx_core::transaction::{TransactionManager as _, rollback_ansi_transaction_sql};

use super::fault::{GAVE_WAY, NO_SAVEPOINT, UNDONE, number};
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
    match done {
        Ok(()) => Ok(true),
        Err(error) if number(&error) == Some(NO_SAVEPOINT) => Ok(false),
        Err(error) => Err(error),
    }
}

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
