//! From the database's errors to ours.

use crate::dialect::{Dialect, Fault};
use crate::error::{Error, ShownKey};

/// Turns a database's error into ours, by what it means.
pub(crate) trait IntoFailed {
    /// `doing` completes "the database failed while …".
    fn into_failed<DB: Dialect>(self, doing: &'static str) -> Error;

    /// The same inside a transaction of the caller's, which may have to begin again.
    fn into_failed_joined<DB: Dialect>(self, doing: &'static str, key: ShownKey) -> Error;
}

impl IntoFailed for sqlx::Error {
    fn into_failed<DB: Dialect>(self, doing: &'static str) -> Error {
        let retryable = match DB::fault(&self) {
            Fault::NoSchema => {
                return Error::SchemaMissing {
                    constant: DB::SCHEMA_CONSTANT,
                };
            }
            Fault::Locked | Fault::GaveWay | Fault::StaleSnapshot | Fault::Passing => true,
            Fault::Lasting => false,
        };
        Error::Database {
            doing,
            retryable,
            source: self,
        }
    }

    fn into_failed_joined<DB: Dialect>(self, doing: &'static str, key: ShownKey) -> Error {
        match DB::fault(&self) {
            Fault::StaleSnapshot => Error::OuterMustRetry {
                key,
                source: Some(self),
            },
            Fault::GaveWay => Error::OuterLost {
                key,
                source: Some(self),
            },
            _ => self.into_failed::<DB>(doing),
        }
    }
}
