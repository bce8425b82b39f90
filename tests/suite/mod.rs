//! The behaviour suite: written once, compiled for each database.

use idempotent_tests::runner::Case;

mod business;

mod basics;

/// Every test of the suite.
pub fn cases() -> Vec<Case> {
    [basics::cases()].into_iter().flatten().collect()
}
