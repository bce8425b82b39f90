//! Tests of the suite that a database does without: `tests/EXCEPTIONS.md`.

use super::markdown;

/// How many there may be.
pub const MOST: usize = 5;

/// A test of the suite that is not compiled for a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// `topic::name`.
    pub test: String,
    /// `sqlite`, `postgres` or `mysql`.
    pub database: String,
    /// Why it cannot be told there.
    pub reason: String,
}

/// All of them.
#[must_use]
pub fn read() -> Vec<Exception> {
    let rows = markdown::rows("tests/EXCEPTIONS.md", 3);
    let parts = rows.into_iter().map(|row| {
        let [test, database, reason] = <[String; 3]>::try_from(row).expect("three columns");
        Exception {
            test: test.replace('`', ""),
            database: database.replace('`', ""),
            reason,
        }
    });
    // The line that says that there are none.
    parts.filter(|exception| exception.test != "–").collect()
}
