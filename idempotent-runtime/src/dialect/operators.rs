//! What operators read: keys, counts and results. Plain reads beside the protocol, never in its way.

use std::future::Future;

use sqlx::Database;

use super::On;

/// Which keys to read; an absent condition is met by every key.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// One bit a state, by its number.
    pub(crate) states: i64,
    pub(crate) job: Option<&'a str>,
    /// From this key on, and before that one.
    pub(crate) from: &'a str,
    pub(crate) before: &'a str,
    /// Keys after this one only.
    pub(crate) after: &'a str,
    /// Milliseconds since the first attempt.
    pub(crate) at_least_old: i64,
    pub(crate) at_most_old: i64,
    pub(crate) limit: i64,
}

/// A key's row, with its state as [`state!`] numbers it. Times are milliseconds since 1970, UTC.
#[derive(Debug, Clone)]
pub struct KeyRow {
    pub(crate) key: String,
    pub(crate) job: String,
    pub(crate) inputs: Option<String>,
    pub(crate) state: i64,
    pub(crate) owner: Vec<u8>,
    pub(crate) fence: i64,
    pub(crate) attempts: i32,
    pub(crate) result_bytes: Option<i64>,
    pub(crate) last_error: Option<String>,
    pub(crate) lease_until: Option<i64>,
    pub(crate) first_at: i64,
    pub(crate) claimed_at: i64,
    pub(crate) finished_at: Option<i64>,
    pub(crate) forget_at: Option<i64>,
    /// The database's clock at the time of reading.
    pub(crate) now: i64,
}

/// A recorded step, without its result.
#[derive(Debug, Clone)]
pub struct StepRow {
    pub(crate) name: String,
    pub(crate) fence: i64,
    pub(crate) at: i64,
    pub(crate) result_bytes: i64,
}

/// How many keys of a job are in a state.
#[derive(Debug, Clone)]
pub struct CountRow {
    pub(crate) job: String,
    pub(crate) state: i64,
    pub(crate) keys: i64,
    /// Those that took more than one attempt.
    pub(crate) retried: i64,
    /// Milliseconds since the first attempt of the oldest.
    pub(crate) oldest: i64,
}

#[doc(hidden)]
/// The reads of operators, one method each.
pub trait OperatorReads: Database {
    /// Reads keys in their order, without results.
    fn keys(
        conn: On<'_, Self>,
        wanted: &Wanted<'_>,
    ) -> impl Future<Output = sqlx::Result<Vec<KeyRow>>> + Send;

    /// Reads a key, without its result.
    fn key(
        conn: On<'_, Self>,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<Option<KeyRow>>> + Send;

    /// Reads a key's steps in their order, without their results.
    fn key_steps(
        conn: On<'_, Self>,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<Vec<StepRow>>> + Send;

    /// Counts all keys by job and state.
    fn counts(conn: On<'_, Self>) -> impl Future<Output = sqlx::Result<Vec<CountRow>>> + Send;
}

/// A row's state as a number, by a clock: 0 running, 1 lapsed, 2 done, 3 expired, 4 in doubt. (The
/// same reading of a row as the ledger's own, which judges one row at a time.)
macro_rules! state {
    ($now:expr) => {
        concat!(
            "CASE WHEN status = 1 AND result IS NOT NULL AND forget_at < ",
            $now,
            " THEN 3 WHEN status = 1 AND result IS NOT NULL THEN 2 \
             WHEN status = 0 AND lease_until < ",
            $now,
            " THEN 1 WHEN status = 0 AND lease_until IS NOT NULL THEN 0 ELSE 4 END"
        )
    };
}

/// The columns of a [`KeyRow`], from a row of whichever database.
macro_rules! key_row {
    ($row:expr) => {{
        let row = $row;
        Ok(KeyRow {
            key: row.try_get("key")?,
            job: row.try_get("job")?,
            inputs: row.try_get("inputs")?,
            state: row.try_get("state")?,
            owner: row.try_get("owner")?,
            fence: row.try_get("fence")?,
            attempts: row.try_get("attempts")?,
            result_bytes: row.try_get("result_bytes")?,
            last_error: row.try_get("last_error")?,
            lease_until: row.try_get("lease_until")?,
            first_at: row.try_get("first_at")?,
            claimed_at: row.try_get("claimed_at")?,
            finished_at: row.try_get("finished_at")?,
            forget_at: row.try_get("forget_at")?,
            now: row.try_get("now")?,
        })
    }};
}

/// The columns of a [`StepRow`].
macro_rules! step_row {
    ($row:expr) => {{
        let row = $row;
        Ok(StepRow {
            name: row.try_get("name")?,
            fence: row.try_get("fence")?,
            at: row.try_get("at")?,
            result_bytes: row.try_get("result_bytes")?,
        })
    }};
}

/// The columns of a [`CountRow`].
macro_rules! count_row {
    ($row:expr) => {{
        let row = $row;
        Ok(CountRow {
            job: row.try_get("job")?,
            state: row.try_get("state")?,
            keys: row.try_get("number")?,
            retried: row.try_get("retried")?,
            oldest: row.try_get("oldest")?,
        })
    }};
}

pub(super) use {count_row, key_row, state, step_row};
