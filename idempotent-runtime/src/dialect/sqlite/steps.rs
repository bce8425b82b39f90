//! Recovery points.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::claim::release_mark;
use crate::ledger::record::{Finished, Holder, Step};

pub(super) async fn steps(conn: &mut SqliteConnection, key: &str) -> sqlx::Result<Vec<Step>> {
    let rows = sqlx::query("SELECT name, result FROM idempotent_steps WHERE key = ? ORDER BY at")
        .bind(key)
        .fetch_all(conn)
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Step {
                name: row.try_get("name")?,
                result: row.try_get("result")?,
            })
        })
        .collect()
}

pub(super) async fn record_step(
    conn: &mut SqliteConnection,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<Finished> {
    // Two steps within a millisecond still have an order.
    let done = sqlx::query(concat!(
        "INSERT INTO idempotent_steps (key, name, result, fence, at) SELECT key, ?, ?, fence, max(",
        now!(),
        ", (SELECT coalesce(max(s.at), 0) + 1 FROM idempotent_steps AS s \
           WHERE s.key = idempotent_keys.key)) FROM idempotent_keys WHERE key = ? AND status = 0 AND owner = ? AND fence = ?"
    ))
    .bind(&step.name)
    .bind(&step.result)
    .bind(key)
    .bind(&holder.owner[..])
    .bind(holder.fence)
    .execute(conn)
    .await?;
    Ok(if done.rows_affected() == 1 {
        Finished::Done
    } else {
        Finished::Lost
    })
}

pub(super) async fn finish_step(
    conn: &mut SqliteConnection,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<Finished> {
    if !release_mark(conn).await? {
        return Ok(Finished::Escaped);
    }
    record_step(conn, key, holder, step).await
}
