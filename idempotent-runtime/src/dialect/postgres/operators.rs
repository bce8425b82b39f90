//! What operators read. Times are those of the statement's start, so that one list has one clock.

use sqlx::{Postgres, Row};

use super::On;
use crate::dialect::operators::{
    CountRow, KeyRow, OperatorReads, StepRow, Wanted, count_row, key_row, state, step_row,
};

/// A column as milliseconds since 1970.
macro_rules! millis {
    ($column:literal) => {
        concat!(
            "(extract(epoch FROM ",
            $column,
            ") * 1000)::bigint AS ",
            $column
        )
    };
}

/// Every key, with its state.
macro_rules! keys {
    () => {
        concat!(
            "SELECT key, job, inputs, owner, fence, attempts, \
               octet_length(result)::bigint AS result_bytes, last_error, ",
            millis!("lease_until"),
            ", ",
            millis!("first_at"),
            ", ",
            millis!("claimed_at"),
            ", ",
            millis!("finished_at"),
            ", ",
            millis!("forget_at"),
            ", (",
            state!("statement_timestamp()"),
            ")::bigint AS state, \
               (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now \
             FROM idempotent_keys"
        )
    };
}

impl OperatorReads for Postgres {
    async fn keys(on: On<'_>, wanted: &Wanted<'_>) -> sqlx::Result<Vec<KeyRow>> {
        let rows = on.query(concat!(
            "SELECT * FROM (",
            keys!(),
            ") AS keys WHERE key >= $1 AND key > $2 AND key < $3 AND ($4 & (1::bigint << state::int)) <> 0 \
             AND job = coalesce($5::text, job) AND now - first_at BETWEEN $6 AND $7 \
             ORDER BY key LIMIT $8"
        ))
        .bind(wanted.from)
        .bind(wanted.after)
        .bind(wanted.before)
        .bind(wanted.states)
        .bind(wanted.job)
        .bind(wanted.at_least_old)
        .bind(wanted.at_most_old)
        .bind(wanted.limit)
        .fetch_all(on.conn)
        .await?;
        rows.iter().map(|row| key_row!(row)).collect()
    }

    async fn key(on: On<'_>, key: &str) -> sqlx::Result<Option<KeyRow>> {
        let row = on
            .query(concat!(keys!(), " WHERE key = $1"))
            .bind(key)
            .fetch_optional(on.conn)
            .await?;
        row.map(|row| key_row!(row)).transpose()
    }

    async fn key_steps(on: On<'_>, key: &str) -> sqlx::Result<Vec<StepRow>> {
        let rows = on
            .query(concat!(
                "SELECT name, fence, octet_length(result)::bigint AS result_bytes, ",
                millis!("at"),
                " FROM idempotent_steps AS steps WHERE key = $1 ORDER BY steps.at, name"
            ))
            .bind(key)
            .fetch_all(on.conn)
            .await?;
        rows.iter().map(|row| step_row!(row)).collect()
    }

    async fn counts(on: On<'_>) -> sqlx::Result<Vec<CountRow>> {
        let rows = on.query(concat!(
            "SELECT job, state, count(*) AS number, count(*) FILTER (WHERE attempts > 1) AS retried, \
               max(now - first_at) AS oldest \
             FROM (",
            keys!(),
            ") AS keys GROUP BY job, state ORDER BY job, state"
        ))
        .fetch_all(on.conn)
        .await?;
        rows.iter().map(|row| count_row!(row)).collect()
    }
}
