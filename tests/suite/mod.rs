//! The behaviour suite: written once, compiled for each database.

use idempotent_tests::runner::Case;

mod business;

mod basics;
mod concurrency;
mod failures;
mod inputs;
mod key_parts;
mod keys;
mod late;
mod leases;
mod operators;
mod results;
mod steps;

/// Every test of the suite.
pub fn cases() -> Vec<Case> {
    [
        basics::cases(),
        concurrency::cases(),
        failures::cases(),
        inputs::cases(),
        key_parts::cases(),
        keys::cases(),
        late::cases(),
        leases::cases(),
        operators::cases(),
        results::cases(),
        steps::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
