//! The tables that say which test shows what: every row is there, every test that one names exists,
//! and every point of the runtime is swept.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};

use idempotent_runtime::failpoint::PLACES;
use idempotent_tests::need::Need;
use idempotent_tests::runner;
use idempotent_tests::tables::exceptions::{self, MOST};
use idempotent_tests::tables::shown::{self, DATABASES};
use idempotent_tests::tables::{markdown, sources};

const FAULTS: &str = "docs/faults.md";
const CASES: &str = "docs/cases.md";
const PROOF: &str = "docs/proof.md";

const NOTHING: Need = Need::Nothing;
const POSTGRES: Need = Need::Server("IDEMPOTENT_TEST_POSTGRES_URL");
const MYSQL: Need = Need::Server("IDEMPOTENT_TEST_MYSQL_URL");

fn main() -> ExitCode {
    let cases = idempotent_tests::cases!(
        NOTHING => every_fault_has_its_tests,
        NOTHING => every_case_from_the_field_has_its_tests,
        NOTHING => the_readme_names_tests_that_there_are,
        NOTHING => exceptions_are_few_and_of_tests_that_there_are,
        NOTHING => the_runtime_reads_no_clock,
        NOTHING => sqlite_is_swept_at_every_point,
        POSTGRES => postgres_is_swept_at_every_point,
        MYSQL => mysql_is_swept_at_every_point,
    );
    runner::run(cases, Vec::new())
}

async fn every_fault_has_its_tests() {
    let numbers: Vec<String> = (1..=40).map(|number| number.to_string()).collect();
    holds(FAULTS, &numbers);
}

async fn every_case_from_the_field_has_its_tests() {
    let topics = [("K", 8), ("R", 5), ("L", 7), ("C", 4), ("T", 5)];
    let numbers = topics.map(|(topic, last)| (1..=last).map(move |n| format!("{topic}{n}")));
    let numbers: Vec<String> = numbers.into_iter().flatten().collect();
    holds(CASES, &numbers);
}

fn holds(page: &str, numbers: &[String]) {
    let wrong = shown::faults_of(page, numbers);
    assert!(wrong.is_empty(), "{page}:\n{}", wrong.join("\n"));
}

/// The guarantees: each with what it needs, and the tests that show it.
async fn the_readme_names_tests_that_there_are() {
    let rows = markdown::rows("README.md", 3);
    let (suite, others) = (sources::suite(), sources::others());
    let names = rows.iter().flat_map(|row| markdown::names(&row[2]));
    let names: Vec<_> = names.filter(|name| name.contains("::")).collect();
    assert!(names.len() >= 20, "{names:?}");
    for name in names.iter().filter(|name| !name.contains('(')) {
        let known = suite.contains(name) || others.contains(name);
        assert!(known, "README.md: there is no test `{name}`");
    }
}

async fn exceptions_are_few_and_of_tests_that_there_are() {
    let exceptions = exceptions::read();
    assert!(exceptions.len() <= MOST, "{exceptions:?}");
    let suite = sources::suite();
    for exception in exceptions {
        assert!(suite.contains(&exception.test), "{exception:?}");
        assert!(DATABASES.contains(&&*exception.database), "{exception:?}");
        assert!(exception.reason.len() > 20, "{exception:?}");
    }
}

/// 10: the worker's clock is read nowhere: time is the database's, or monotonic.
async fn the_runtime_reads_no_clock() {
    const CLOCKS: [&str; 5] = [
        "SystemTime::now",
        "Utc::now",
        "Local::now",
        "now_utc",
        "now_local",
    ];
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../idempotent-runtime/src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the runtime's sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("a source");
            files += 1;
            for clock in CLOCKS {
                assert!(!source.contains(clock), "{}: {clock}", path.display());
            }
        }
    }
    assert!(files > 50, "{files}");
}

async fn sqlite_is_swept_at_every_point() {
    swept("sqlite");
}

async fn postgres_is_swept_at_every_point() {
    swept("postgres");
}

async fn mysql_is_swept_at_every_point() {
    swept("mysql");
}

/// Every point is passed by some case of the sweep, but for those that the proof's page names with a
/// reason; and there are all the cases that the tables name.
fn swept(database: &str) {
    let listed = Command::new(env!("CARGO_BIN_EXE_proof"))
        .args(["--database", database, "--list", "yes"])
        .output()
        .expect("the proof runs");
    let trouble = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success(), "{trouble}");
    let listed = String::from_utf8_lossy(&listed.stdout);
    let begin = format!("{database}/");
    let cases: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix(&begin))
        .collect();
    assert!(cases.len() > 1000, "{} cases", cases.len());

    let points: BTreeSet<&str> = cases
        .iter()
        .filter_map(|case| case.split('/').nth(1)?.split(' ').next())
        .collect();
    let passed = |place: &str, what: &str| {
        ["before", "after"]
            .iter()
            .all(|when| points.contains(&*format!("{place}::{when}-{what}")))
    };
    let missed: BTreeSet<String> = PLACES
        .iter()
        .filter(|(place, what)| !passed(place, what))
        .map(|(place, what)| format!("{place}::…-{what}"))
        .collect();
    let excused: BTreeSet<String> = markdown::rows(PROOF, 3)
        .into_iter()
        .filter(|row| {
            row[0].contains("::…-") && markdown::names(&row[1]).contains(&database.to_owned())
        })
        .flat_map(|row| markdown::names(&row[0]))
        .collect();
    assert_eq!(missed, excused, "points that no case passes, and {PROOF}");

    let position = DATABASES
        .iter()
        .position(|name| *name == database)
        .expect("it is one");
    for page in [FAULTS, CASES] {
        for row in shown::read(page) {
            for name in row.tests[position]
                .iter()
                .filter(|name| shown::is_case(name))
            {
                assert!(
                    cases.contains(&**name),
                    "{page}, {}: no case `{name}`",
                    row.number
                );
            }
        }
    }
}
