//! The clock, durations, and a row.

use std::time::Duration;

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use crate::ledger::record::{Lease, Record, Status};

/// The database's clock, whatever the session's time zone is. It stands still within a statement,
/// at its start.
macro_rules! now {
    () => {
        "UTC_TIMESTAMP(6)"
    };
}

/// A row that was put down for a claim to change. It is not there for anybody else.
macro_rules! reserved {
    () => {
        "3"
    };
}

/// What has no lease of an attempt at work: in doubt, or left behind.
macro_rules! unheld {
    () => {
        "(status = 2 OR status = 0 AND (lease_until IS NULL OR lease_until < UTC_TIMESTAMP(6)))"
    };
}

pub(super) use {now, reserved, unheld};

/// The number that [`reserved!`] is.
const RESERVED: i16 = 3;

/// Microseconds as an `INTERVAL` takes them. A time past the year 9999 would be NULL, so nothing is
/// longer than a thousand years.
pub(super) fn micros(duration: Duration) -> i64 {
    const MAX: i64 = 1_000 * 365 * 24 * 60 * 60 * 1_000_000;
    i64::try_from(duration.as_micros()).map_or(MAX, |micros| micros.min(MAX))
}

/// What is found under a key.
#[derive(Debug)]
pub(super) enum Found {
    Nothing,
    Reserved,
    Record(Record),
}

/// The columns that [`found`] takes.
macro_rules! record {
    () => {
        "job, inputs, status, owner, fence, \
         TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lease_until) DIV 1000 AS lease_left, \
         TIMESTAMPDIFF(MICROSECOND, first_at, UTC_TIMESTAMP(6)) DIV 1000 AS age, result, last_error"
    };
}
pub(super) use record;

pub(super) fn found(row: Option<&MySqlRow>) -> sqlx::Result<Found> {
    let Some(row) = row else {
        return Ok(Found::Nothing);
    };
    let status: i16 = row.try_get("status")?;
    if status == RESERVED {
        return Ok(Found::Reserved);
    }
    Ok(Found::Record(Record {
        job: text(row.try_get("job")?),
        inputs: row.try_get::<Option<_>, _>("inputs")?.map(text),
        status: Status::from_number(status),
        owner: row.try_get("owner")?,
        fence: row.try_get("fence")?,
        lease: Lease::from_left(row.try_get("lease_left")?),
        age: Duration::from_millis(row.try_get::<i64, _>("age")?.try_into().unwrap_or(0)),
        result: row.try_get("result")?,
        last_error: row.try_get::<Option<_>, _>("last_error")?.map(text),
    }))
}

/// Text that was stored as bytes, by this crate.
pub(super) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_duration_leaves_the_calendar() {
        assert_eq!(micros(Duration::from_millis(1)), 1_000);
        assert_eq!(micros(Duration::MAX), micros(Duration::from_secs(u64::MAX)));
        assert!(micros(Duration::MAX) / 1_000_000 / 60 / 60 / 24 / 365 < 7_000);
    }
}
