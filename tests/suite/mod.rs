//! The behaviour suite: written once, compiled for each database.

use idempotent_tests::runner::Case;

mod business;

mod basics;
mod concurrency;
mod crashes;
mod escapes;
mod failures;
mod guards;
mod inputs;
mod joining;
mod key_parts;
mod keys;
mod late;
mod leases;
mod nesting;
mod operators;
mod processes;
mod results;
mod retention;
mod steps;
mod transactions;
mod unique;

/// Every test of the suite.
pub fn cases() -> Vec<Case> {
    [
        basics::cases(),
        concurrency::cases(),
        crashes::cases(),
        escapes::cases(),
        failures::cases(),
        guards::cases(),
        inputs::cases(),
        joining::cases(),
        key_parts::cases(),
        keys::cases(),
        late::cases(),
        leases::cases(),
        nesting::cases(),
        operators::cases(),
        processes::cases(),
        results::cases(),
        retention::cases(),
        steps::cases(),
        transactions::cases(),
        unique::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
