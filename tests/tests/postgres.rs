//! The behaviour suite on the database of this file's name.

use std::process::ExitCode;

use idempotent_tests::postgres as db;
use idempotent_tests::{runner, world};

#[path = "../suite/mod.rs"]
mod suite;

fn main() -> ExitCode {
    runner::suite("postgres", db::SERVER, suite::cases())
}
