//! What operators read, on SQLite. (`julianday('now')` stands still within a statement.)

use sqlx::{Row, Sqlite};

use crate::dialect::On;
use crate::dialect::operators::{
    CountRow, KeyRow, OperatorReads, StepRow, Wanted, count_row, key_row, state, step_row,
};

/// Every key, with its state.
macro_rules! keys {
    () => {
        concat!(
            "SELECT key, job, inputs, owner, fence, attempts, length(result) AS result_bytes, \
             last_error, lease_until, first_at, claimed_at, finished_at, forget_at, ",
            state!(now!()),
            " AS state, ",
            now!(),
            " AS now FROM idempotent_keys"
        )
    };
}

impl OperatorReads for Sqlite {
    async fn keys(On { conn, .. }: On<'_, Self>, wanted: &Wanted<'_>) -> sqlx::Result<Vec<KeyRow>> {
        let rows = sqlx::query(concat!(
            "SELECT * FROM (",
            keys!(),
            ") WHERE key >= ? AND key > ? AND key < ? AND (? & (1 << state)) <> 0 \
             AND job = coalesce(?, job) AND now - first_at BETWEEN ? AND ? ORDER BY key LIMIT ?"
        ))
        .bind(wanted.from)
        .bind(wanted.after)
        .bind(wanted.before)
        .bind(wanted.states)
        .bind(wanted.job)
        .bind(wanted.at_least_old)
        .bind(wanted.at_most_old)
        .bind(wanted.limit)
        .fetch_all(conn)
        .await?;
        rows.iter().map(|row| key_row!(row)).collect()
    }

    async fn key(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Option<KeyRow>> {
        let row = sqlx::query(concat!(keys!(), " WHERE key = ?"))
            .bind(key)
            .fetch_optional(conn)
            .await?;
        row.map(|row| key_row!(row)).transpose()
    }

    async fn key_steps(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Vec<StepRow>> {
        let rows = sqlx::query(
            "SELECT name, fence, at, length(result) AS result_bytes FROM idempotent_steps \
             WHERE key = ? ORDER BY at, name",
        )
        .bind(key)
        .fetch_all(conn)
        .await?;
        rows.iter().map(|row| step_row!(row)).collect()
    }

    async fn counts(On { conn, .. }: On<'_, Self>) -> sqlx::Result<Vec<CountRow>> {
        let rows = sqlx::query(concat!(
            "SELECT job, state, count(*) AS number, sum(attempts > 1) AS retried, \
             max(now - first_at) AS oldest FROM (",
            keys!(),
            ") GROUP BY job, state ORDER BY job, state"
        ))
        .fetch_all(conn)
        .await?;
        rows.iter().map(|row| count_row!(row)).collect()
    }
}
