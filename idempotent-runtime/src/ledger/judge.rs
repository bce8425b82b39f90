//! What a row that is already there means to a call.

use std::time::Duration;

use super::record::{Lease, Record, Status};
use crate::error::{Error, ShownKey};
use crate::input::Fingerprints;

/// What to do about a key that has a row.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// Done: replay this result.
    Replay(Vec<u8>),
    /// An attempt holds it, for so long unless it renews.
    Held(Duration),
    /// An attempt was left unfinished; whoever takes over names its fence.
    Leftover {
        /// The leftover attempt's fence.
        fence: i64,
        /// Since the first attempt.
        age: Duration,
    },
}

/// Judges a row. The row of another job, of other inputs, or in doubt is an error: it is neither
/// replayed nor run over.
pub(crate) fn judge(
    record: Record,
    key: impl Fn() -> ShownKey,
    job: &str,
    inputs: &Fingerprints,
) -> Result<Ruling, Error> {
    if record.job != job {
        return Err(Error::KeyTaken {
            key: key(),
            job: job.to_owned(),
            holder: record.job,
        });
    }
    let names = inputs.differing(record.inputs.as_deref());
    if !names.is_empty() {
        return Err(Error::InputMismatch {
            key: key(),
            job: record.job,
            names,
        });
    }
    match (record.status, record.lease, record.result) {
        (Status::Done, _, Some(result)) => Ok(Ruling::Replay(result)),
        (Status::Running, Lease::Held(left), _) => Ok(Ruling::Held(left)),
        (Status::Running, Lease::Ended, _) => Ok(Ruling::Leftover {
            fence: record.fence,
            age: record.age,
        }),
        (Status::Running, Lease::None, _) => Err(Error::InDoubt {
            key: key(),
            why: "it was committed as running, with no lease that could end".to_owned(),
        }),
        (Status::Done, _, None) => Err(Error::InDoubt {
            key: key(),
            why: "it is recorded as done without a result".to_owned(),
        }),
        (Status::InDoubt, _, _) => Err(Error::InDoubt {
            key: key(),
            why: record
                .last_error
                .unwrap_or_else(|| "no reason is recorded".to_owned()),
        }),
    }
}
