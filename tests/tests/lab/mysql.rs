//! The lab on the database of this file's name: it finds what is wrong with a job, and passes the jobs
//! that are right.

use std::process::ExitCode;

use idempotent_runtime::testing::Lab;
use idempotent_tests::mysql as db;
use idempotent_tests::runner;

#[path = "../../lab/mod.rs"]
mod jobs;

/// A number that the database gives.
const SERIAL: &str = "BIGINT AUTO_INCREMENT PRIMARY KEY";

fn lab() -> Lab<db::Db> {
    Lab::mysql(server())
}

fn server() -> String {
    let variable = db::SERVER.expect("it has a server");
    std::env::var(variable).expect("tests of a missing server do not run")
}

fn main() -> ExitCode {
    runner::main_on_one_thread(db::SERVER, jobs::cases())
}
