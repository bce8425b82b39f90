//! The behaviour suite: written once, compiled for each database.

use idempotent_tests::runner::Case;

mod business;

mod basics;
mod clocks;
mod concurrency;
mod crashes;
mod escapes;
mod failures;
mod gateways;
mod guards;
mod inputs;
mod joining;
mod key_parts;
mod keys;
mod late;
mod leases;
mod nesting;
mod operators;
mod pools;
mod processes;
mod recorded;
mod results;
mod retention;
mod runtimes;
mod step_names;
mod steps;
mod transactions;
mod unique;
mod versions;

/// Every test of the suite.
pub fn cases() -> Vec<Case> {
    [
        basics::cases(),
        clocks::cases(),
        concurrency::cases(),
        crashes::cases(),
        escapes::cases(),
        failures::cases(),
        gateways::cases(),
        guards::cases(),
        inputs::cases(),
        joining::cases(),
        key_parts::cases(),
        keys::cases(),
        late::cases(),
        leases::cases(),
        nesting::cases(),
        operators::cases(),
        pools::cases(),
        processes::cases(),
        recorded::cases(),
        results::cases(),
        retention::cases(),
        runtimes::cases(),
        step_names::cases(),
        steps::cases(),
        transactions::cases(),
        unique::cases(),
        versions::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
