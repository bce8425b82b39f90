//! PostgreSQL on its own: what the suite for all databases cannot say in words that all of them
//! understand.

#![allow(
    unused_variables,
    unused_must_use,
    reason = "what a job keys itself by, and outcomes that are told by their effects"
)]

use std::process::ExitCode;

use idempotent_tests::need::Need;
use idempotent_tests::postgres as db;
use idempotent_tests::runner::{self, needing};

mod cut;
mod escape;
mod joined;
mod lease;
mod pooler;
mod schema;
mod settings;
mod storm;
mod unique;
mod waiting;
mod work;

fn main() -> ExitCode {
    let cases = [
        cut::cases(),
        escape::cases(),
        joined::cases(),
        lease::cases(),
        needing(Need::Program("pgbouncer"), pooler::cases()),
        schema::cases(),
        settings::cases(),
        storm::cases(),
        unique::cases(),
        waiting::cases(),
    ];
    runner::main(db::SERVER, cases.into_iter().flatten().collect())
}
