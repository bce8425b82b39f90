//! What operators read. Reserved rows are not there for them.

use sqlx::{MySql, Row};

use super::sql::{now, reserved};
use crate::dialect::On;
use crate::dialect::operators::{
    CountRow, KeyRow, OperatorReads, StepRow, Wanted, count_row, key_row, state, step_row,
};

/// A time as milliseconds since 1970.
macro_rules! millis {
    ($time:expr) => {
        concat!(
            "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ",
            $time,
            ") DIV 1000"
        )
    };
}

/// The time since the first attempt, in milliseconds.
macro_rules! age {
    () => {
        concat!(
            "TIMESTAMPDIFF(MICROSECOND, first_at, ",
            now!(),
            ") DIV 1000"
        )
    };
}

/// Every key, with its state. What is compared stays as it is kept, in bytes; only what is shown is
/// text.
macro_rules! keys {
    () => {
        concat!(
            "SELECT CONVERT(k.`key` USING utf8mb4) AS `key`, CONVERT(k.job USING utf8mb4) AS job, \
             CONVERT(inputs USING utf8mb4) AS inputs, owner, fence, attempts, \
             LENGTH(result) AS result_bytes, CONVERT(last_error USING utf8mb4) AS last_error, ",
            millis!("lease_until"),
            " AS lease_until, ",
            millis!("first_at"),
            " AS first_at, ",
            millis!("claimed_at"),
            " AS claimed_at, ",
            millis!("finished_at"),
            " AS finished_at, ",
            millis!("forget_at"),
            " AS forget_at, ",
            state!(now!()),
            " AS state, ",
            millis!(now!()),
            " AS now FROM idempotent_keys AS k WHERE status <> ",
            reserved!()
        )
    };
}

impl OperatorReads for MySql {
    async fn keys(On { conn, .. }: On<'_, Self>, wanted: &Wanted<'_>) -> sqlx::Result<Vec<KeyRow>> {
        let rows = sqlx::query(concat!(
            keys!(),
            " AND k.`key` >= ? AND k.`key` > ? AND k.`key` < ? AND (? & (1 << (",
            state!(now!()),
            "))) <> 0 AND k.job = COALESCE(?, k.job) AND ",
            age!(),
            " BETWEEN ? AND ? ORDER BY k.`key` LIMIT ?"
        ))
        .bind(wanted.from.as_bytes())
        .bind(wanted.after.as_bytes())
        .bind(wanted.before.as_bytes())
        .bind(wanted.states)
        .bind(wanted.job.map(str::as_bytes))
        .bind(wanted.at_least_old)
        .bind(wanted.at_most_old)
        .bind(wanted.limit)
        .fetch_all(conn)
        .await?;
        rows.iter().map(|row| key_row!(row)).collect()
    }

    async fn key(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Option<KeyRow>> {
        let row = sqlx::query(concat!(keys!(), " AND k.`key` = ?"))
            .bind(key.as_bytes())
            .fetch_optional(conn)
            .await?;
        row.map(|row| key_row!(row)).transpose()
    }

    async fn key_steps(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Vec<StepRow>> {
        let rows = sqlx::query(concat!(
            "SELECT CONVERT(s.name USING utf8mb4) AS name, fence, LENGTH(result) AS result_bytes, ",
            millis!("s.at"),
            " AS at FROM idempotent_steps AS s WHERE `key` = ? ORDER BY s.at, s.name"
        ))
        .bind(key.as_bytes())
        .fetch_all(conn)
        .await?;
        rows.iter().map(|row| step_row!(row)).collect()
    }

    async fn counts(On { conn, .. }: On<'_, Self>) -> sqlx::Result<Vec<CountRow>> {
        let rows = sqlx::query(concat!(
            "SELECT CONVERT(job USING utf8mb4) AS job, state, COUNT(*) AS number, \
             CAST(SUM(attempts > 1) AS SIGNED) AS retried, MAX(age) AS oldest \
             FROM (SELECT k.job, attempts, ",
            age!(),
            " AS age, ",
            state!(now!()),
            " AS state FROM idempotent_keys AS k WHERE status <> ",
            reserved!(),
            ") AS counted GROUP BY counted.job, state ORDER BY counted.job, state"
        ))
        .fetch_all(conn)
        .await?;
        rows.iter().map(|row| count_row!(row)).collect()
    }
}
