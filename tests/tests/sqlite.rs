//! The behaviour suite on the database of this file's name.

use std::process::ExitCode;

use idempotent_tests::sqlite as db;
use idempotent_tests::{runner, world};

#[path = "../suite/mod.rs"]
mod suite;

fn main() -> ExitCode {
    runner::suite("sqlite", db::SERVER, suite::cases())
}
