//! The behaviour suite on the database of this file's name.

use std::process::ExitCode;

use idempotent_tests::mysql as db;
use idempotent_tests::{runner, world};

#[path = "../suite/mod.rs"]
mod suite;

fn main() -> ExitCode {
    runner::suite("mysql", db::SERVER, suite::cases())
}
