//! How times and durations are written.

use std::time::{Duration, SystemTime};

/// A time, as RFC 3339 has it, in UTC.
pub(crate) fn stamp(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// A duration in its two largest units: `3d 4h`, `2m 5s`, `0s`.
pub(crate) fn span(duration: Duration) -> String {
    const UNITS: [(u64, char); 4] = [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];

    let mut left = duration.as_secs();
    let mut parts = Vec::new();
    for (seconds, unit) in UNITS {
        let count = left / seconds;
        left %= seconds;
        if count > 0 && parts.len() < 2 {
            parts.push(format!("{count}{unit}"));
        } else if !parts.is_empty() {
            break;
        }
    }
    match parts.is_empty() {
        true => "0s".to_owned(),
        false => parts.join(" "),
    }
}

/// "in 5s", or "5s ago".
pub(crate) fn relative(time: SystemTime, now: SystemTime) -> String {
    match time.duration_since(now) {
        Ok(left) => format!("in {}", span(left)),
        Err(passed) => format!("{} ago", span(passed.duration())),
    }
}
