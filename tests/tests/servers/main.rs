//! Servers of the tests' own, to be crashed, cut off, told to take no writes, and asked what a job
//! cost them.

use std::process::{Command, ExitCode};

use idempotent_tests::need::Need;
use idempotent_tests::runner;

mod cost;
mod read_only;
mod round_trips;

const POSTGRES: Need = Need::Program("initdb");
const MYSQL: Need = Need::Program("mariadbd");

fn main() -> ExitCode {
    let restarts = idempotent_tests::cases!(
        POSTGRES => postgres_crashes_at_any_point_and_is_cut_off_at_commit,
        MYSQL => mysql_crashes_at_any_point_and_is_cut_off_at_commit,
    );
    let cases = restarts
        .into_iter()
        .chain(read_only::cases())
        .chain(cost::cases());
    runner::run(cases.collect(), Vec::new())
}

async fn postgres_crashes_at_any_point_and_is_cut_off_at_commit() {
    outages("postgres");
}

async fn mysql_crashes_at_any_point_and_is_cut_off_at_commit() {
    outages("mysql");
}

/// 8: the server crashes and comes back at every point of the jobs that perform; 9: a connection is
/// cut before the server has the COMMIT, and before its answer. Errors are retryable, and after the
/// retry there is one effect: the proof's checker sees to it.
fn outages(database: &str) {
    let proof = Command::new(env!("CARGO_BIN_EXE_proof"))
        .args(["--database", database, "--outages", "4", "--sweep", "0"])
        .args(["--jobs", "0", "--mutants", "no", "--model", "0"])
        .output()
        .expect("the proof runs");
    let said = String::from_utf8_lossy(&proof.stdout);
    let trouble = String::from_utf8_lossy(&proof.stderr);
    assert!(proof.status.success(), "{said}{trouble}");
    let number = |name: &str| -> u32 {
        let value = said.lines().find_map(|line| line.strip_prefix(name));
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or_default()
    };
    assert!(number("outage restarts: ") >= 20, "{said}");
    assert!(
        number("outage cuts during or before COMMIT: ") >= 10,
        "{said}"
    );
    assert_eq!(said.matches("outages not met: 0").count(), 1, "{said}");
}
