//! Recovery points.

use sqlx::Row;
use sqlx::mysql::MySqlConnection;

use super::finish::too_large;
use super::mark;
use super::sql::now;
use crate::ledger::record::{Finished, Holder, Step};

pub(super) async fn steps(conn: &mut MySqlConnection, key: &str) -> sqlx::Result<Vec<Step>> {
    let rows =
        sqlx::query("SELECT name, result FROM idempotent_steps WHERE `key` = ? ORDER BY at, name")
            .bind(key.as_bytes())
            .fetch_all(conn)
            .await?;
    rows.iter()
        .map(|row| {
            Ok(Step {
                name: super::sql::text(row.try_get("name")?),
                result: row.try_get("result")?,
            })
        })
        .collect()
}

pub(super) async fn record(
    conn: &mut MySqlConnection,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<Finished> {
    if let Some(limit) = too_large(conn, &step.result).await? {
        return Ok(Finished::TooLarge(limit));
    }
    insert(conn, key, holder, step).await
}

pub(super) async fn finish(
    conn: &mut MySqlConnection,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<Finished> {
    if let Some(limit) = too_large(conn, &step.result).await? {
        return Ok(Finished::TooLarge(limit));
    }
    if !mark::check(conn, false).await? {
        return Ok(Finished::Escaped);
    }
    insert(conn, key, holder, step).await
}

/// The row of the key is locked by the reading half: without it, an attempt that has lost its lease
/// could commit a step that the next attempt, reading the steps at that moment, does not see.
async fn insert(
    conn: &mut MySqlConnection,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<Finished> {
    // Two steps have an order even where the clock is set back between them.
    let done = sqlx::query(concat!(
        "INSERT INTO idempotent_steps (`key`, name, result, fence, at) SELECT k.`key`, ?, ?, k.fence, \
         GREATEST(",
        now!(),
        ", COALESCE((SELECT MAX(s.at) + INTERVAL 1 MICROSECOND FROM idempotent_steps AS s \
         WHERE s.`key` = k.`key`), CAST('1970-01-01' AS DATETIME(6)))) FROM idempotent_keys AS k \
         WHERE k.`key` = ? AND k.status = 0 AND k.owner = ? AND k.fence = ? LOCK IN SHARE MODE"
    ))
    .bind(step.name.as_bytes())
    .bind(&step.result)
    .bind(key.as_bytes())
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
