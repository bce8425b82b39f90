//! Claims of transactional jobs, and their completion: the write lock is the claim.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use crate::dialect::millis;
use crate::ledger::record::{Claim, Claimed, Finish, Finished, Lease, Record, Standing, Status};

/// A job's last statement, behind the release of the mark, in one message to the connection's thread.
/// Where the mark is gone, that fails, and the statement is not run: outside of the transaction it
/// would commit by itself.
macro_rules! last_statement {
    ($statement:expr) => {
        if without!("the escape check") {
            $statement
        } else {
            concat!("RELEASE idempotent_mark; ", $statement)
        }
    };
}

pub(super) use last_statement;

pub(super) async fn read(conn: &mut SqliteConnection, key: &str) -> sqlx::Result<Option<Record>> {
    let row = sqlx::query(concat!(
        "SELECT job, inputs, status, owner, fence, lease_until - ",
        now!(),
        " AS lease_left, ",
        now!(),
        " - first_at AS age, result, last_error FROM idempotent_keys WHERE key = ?"
    ))
    .bind(key)
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(Record {
            job: row.try_get("job")?,
            inputs: row.try_get("inputs")?,
            status: Status::from_number(row.try_get("status")?),
            owner: row.try_get("owner")?,
            fence: row.try_get("fence")?,
            lease: Lease::from_left(row.try_get("lease_left")?),
            age: Duration::from_millis(row.try_get::<i64, _>("age")?.try_into().unwrap_or(0)),
            result: row.try_get("result")?,
            last_error: row.try_get("last_error")?,
        })
    })
    .transpose()
}

pub(super) async fn claim(
    conn: &mut SqliteConnection,
    claim: &Claim<'_>,
) -> sqlx::Result<Claimed<()>> {
    if claim.joined {
        // An escape of the body shows when this mark is gone. The write lock comes first: a
        // transaction that only reads later fails with a stale snapshot when it writes.
        sqlx::query("SAVEPOINT idempotent_mark")
            .execute(&mut *conn)
            .await?;
        sqlx::query("UPDATE idempotent_meta SET version = version WHERE 0")
            .execute(&mut *conn)
            .await?;
    }
    Ok(match read(conn, claim.key.as_str()).await? {
        Some(record) => Claimed::Taken(Some(record)),
        None => Claimed::Fresh(()),
    })
}

pub(super) async fn undo_body(conn: &mut SqliteConnection) -> sqlx::Result<()> {
    sqlx::query("ROLLBACK TO idempotent_mark")
        .execute(conn)
        .await
        .map(drop)
}

pub(super) async fn finish(
    conn: &mut SqliteConnection,
    claim: &Claim<'_>,
    finish: &Finish<'_>,
) -> sqlx::Result<Finished> {
    let done = sqlx::query(last_statement!(concat!(
        "INSERT INTO idempotent_keys (key, job, inputs, status, owner, fence, attempts, result, \
         first_at, claimed_at, finished_at, forget_at) SELECT ?, ?, ?, 1, ?, 1, 1, ?, now, now, \
         now, now + ? FROM (SELECT ",
        now!(),
        " AS now)"
    )))
    .bind(claim.key.as_str())
    .bind(claim.job)
    .bind(claim.inputs)
    .bind(&claim.owner[..])
    .bind(finish.result)
    .bind(finish.retain.map(millis))
    .execute(conn)
    .await;
    Ok(match if_marked(done)? {
        Some(_) => Finished::Done,
        None => Finished::Escaped,
    })
}

pub(super) async fn still_ours(conn: &mut SqliteConnection) -> sqlx::Result<Standing> {
    Ok(if release_mark(conn).await? {
        Standing::Open
    } else {
        Standing::Escaped
    })
}

/// Releases the mark; `false` where it is gone, for the body ended the transaction.
pub(super) async fn release_mark(conn: &mut SqliteConnection) -> sqlx::Result<bool> {
    let released = sqlx::query("RELEASE idempotent_mark").execute(conn).await;
    Ok(if_marked(released)?.is_some() || without!("the escape check"))
}

/// What a statement that releases the mark gave, or nothing where the mark is gone.
pub(super) fn if_marked<T>(done: sqlx::Result<T>) -> sqlx::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(sqlx::Error::Database(error)) if error.message().starts_with("no such savepoint") => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
