//! The behaviour suite: written once, compiled for each database.

use idempotent_tests::runner::Case;

mod business;

mod basics;
mod steps;

/// Every test of the suite.
pub fn cases() -> Vec<Case> {
    [basics::cases(), steps::cases()]
        .into_iter()
        .flatten()
        .collect()
}
