//! The behaviour suite: written once, compiled for each database.

use idempotent_tests::runner::Case;

mod business;

mod basics;
mod concurrency;
mod failures;
mod guards;
mod inputs;
mod key_parts;
mod keys;
mod late;
mod leases;
mod operators;
mod results;
mod steps;
mod transactions;
mod unique;

/// Every test of the suite.
pub fn cases() -> Vec<Case> {
    [
        basics::cases(),
        concurrency::cases(),
        failures::cases(),
        guards::cases(),
        inputs::cases(),
        key_parts::cases(),
        keys::cases(),
        late::cases(),
        leases::cases(),
        operators::cases(),
        results::cases(),
        steps::cases(),
        transactions::cases(),
        unique::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
