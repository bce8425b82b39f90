//! The list of points is complete: whatever in the runtime talks to the database passes one before
//! and one after, and is listed.

use std::collections::BTreeSet;
use std::path::Path;

use idempotent_runtime::failpoint::PLACES;

/// The runtime's sources that talk to the database on a job's behalf.
const SOURCES: &[&str] = &[
    "job.rs",
    "steps.rs",
    "tx.rs",
    "watch.rs",
    "ledger/call.rs",
    "ledger/joined.rs",
    "ledger/leased/begin.rs",
    "ledger/leased/claim.rs",
    "ledger/leased/run.rs",
    "ledger/mod.rs",
    "ledger/release.rs",
    "ledger/transactional/begin.rs",
    "ledger/transactional/run.rs",
];

/// How a call looks that a database answers. (`tx.rs` has its points at its callers: what it adds to
/// sqlx is what a dropped future would leave behind.)
const CALLS: &[&str] = &[
    "DB::claim(",
    "DB::reserve(",
    // Through a function of that name, whose callers have the point.
    " read(&mut ",
    "DB::undo_body(",
    "DB::describe(",
    "DB::check_deferred(",
    "DB::finish(",
    "DB::still_ours(",
    "DB::lease(",
    "DB::take_over(",
    "DB::renew(",
    "DB::release(",
    "DB::discard(",
    "DB::finish_lease(",
    "DB::steps(",
    "DB::record_step(",
    "DB::finish_step(",
    "DB::doubt(",
    "tx.begin(",
    "tx.commit()",
    "tx.rollback()",
    "begin_write(",
    "pool.acquire()",
];

fn source(name: &str) -> String {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../idempotent-runtime/src");
    let text = std::fs::read_to_string(src.join(name)).expect(name);
    // Layout is rustfmt's, and changes with the length of a line.
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(str::split_whitespace)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The places and whats of a source's points.
fn points(source: &str) -> Vec<(String, String)> {
    let calls = source.split("point!(").skip(1);
    calls
        .filter_map(|call| {
            let mut quoted = call.split('"').skip(1).step_by(2);
            Some((quoted.next()?.to_owned(), quoted.next()?.to_owned()))
        })
        .collect()
}

#[test]
fn every_point_is_listed_and_every_one_listed_is_there() {
    let passed: BTreeSet<(String, String)> = SOURCES
        .iter()
        .flat_map(|name| points(&source(name)))
        .collect();
    let listed: BTreeSet<(String, String)> = PLACES
        .iter()
        .map(|&(place, what)| (place.to_owned(), what.to_owned()))
        .collect();
    assert_eq!(passed, listed);
}

#[test]
fn whatever_talks_to_the_database_has_a_point() {
    for name in SOURCES {
        let source = source(name);
        for call in CALLS {
            for (at, _) in source.match_indices(call) {
                // The point's own words come just before; or the call is made ready for one.
                let before = &source[at.saturating_sub(90)..at];
                let after = &source[at..(at + 160).min(source.len())];
                assert!(
                    before.contains("point!(") || after.contains("point!("),
                    "{name}: `{call}` without a point: {before}"
                );
            }
        }
    }
}
