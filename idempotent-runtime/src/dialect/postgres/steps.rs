//! Recovery points of leased jobs.

use sqlx::{Row, SqlSafeStr, SqlStr};

use super::{On, transaction};
use crate::ledger::record::{Finished, Holder, Step};

/// Fence and record in one statement. The key's row is locked, not only looked at: an attempt that
/// has lost its lease would find the row as its snapshot has it, and write. Two steps of one
/// microsecond still have an order.
macro_rules! record {
    ($($condition:literal)?) => {
        concat!(
            "WITH held AS MATERIALIZED (SELECT key, fence FROM idempotent_keys \
               WHERE key = $1 AND status = 0 AND owner = $2 AND fence = $3 ",
            $($condition,)?
            " FOR NO KEY UPDATE) \
             INSERT INTO idempotent_steps (key, name, result, fence, at) \
             SELECT key, $4, $5, fence, greatest(clock_timestamp(), \
               (SELECT max(s.at) + interval '1 microsecond' FROM idempotent_steps s \
                WHERE s.key = held.key)) FROM held"
        )
    };
}

pub(super) async fn steps(on: On<'_>, key: &str) -> sqlx::Result<Vec<Step>> {
    let rows = on
        .query("SELECT name, result FROM idempotent_steps WHERE key = $1 ORDER BY at")
        .bind(key)
        .fetch_all(on.conn)
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

pub(super) async fn record(
    mut on: On<'_>,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<Finished> {
    let sql = record!().into_sql_str();
    Ok(if insert(on.again(), sql, key, holder, step).await? {
        Finished::Done
    } else {
        Finished::Lost
    })
}

/// Within the step's transaction, as its last statement; outside of it, nothing is recorded.
pub(super) async fn finish(
    mut on: On<'_>,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<Finished> {
    let sql = record!("AND current_setting('idempotent.mark', true) = 'open'").into_sql_str();
    if insert(on.again(), sql, key, holder, step).await? {
        return Ok(Finished::Done);
    }
    transaction::lost_or_escaped(on).await
}

async fn insert(
    on: On<'_>,
    sql: SqlStr,
    key: &str,
    holder: &Holder,
    step: &Step,
) -> sqlx::Result<bool> {
    let done = on
        .query(sql)
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .bind(&step.name)
        .bind(&step.result)
        .execute(on.conn)
        .await?;
    Ok(done.rows_affected() == 1)
}
