//! The lab on the database of this file's name: it finds what is wrong with a job, and passes the jobs
//! that are right.

use std::process::ExitCode;

use idempotent_runtime::testing::Lab;
use idempotent_tests::runner;
use idempotent_tests::sqlite as db;

#[path = "../../lab/mod.rs"]
mod jobs;

/// A number that the database gives.
const SERIAL: &str = "INTEGER PRIMARY KEY";

fn lab() -> Lab<db::Db> {
    Lab::sqlite()
}

fn main() -> ExitCode {
    runner::main_on_one_thread(db::SERVER, jobs::cases())
}
