//! A table of faults, and of the tests that show what is right under each.

use std::collections::BTreeSet;

use super::{markdown, sources};

/// The databases, in the order of the columns.
pub const DATABASES: [&str; 3] = ["sqlite", "postgres", "mysql"];

/// A row: a fault, and what shows that it does no harm.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is called.
    pub number: String,
    /// The tests on each database, in the order of [`DATABASES`].
    pub tests: [Vec<String>; 3],
    /// Why it cannot happen there, for a database without a test.
    pub reasons: [Option<String>; 3],
}

/// The rows of a page: number, fault, what is right, tests on each database, tests on one.
#[must_use]
pub fn read(page: &str) -> Vec<Row> {
    let rows = markdown::rows(page, 7);
    let rows = rows.into_iter().map(|cells| Row {
        number: cells[0].clone(),
        tests: [4, 5, 6].map(|column| {
            let mut names = markdown::names(&cells[3]);
            names.extend(markdown::names(&cells[column]));
            names
        }),
        reasons: [4, 5, 6].map(|column| {
            let reason = cells[column].strip_prefix("– ");
            reason.map(|reason| reason.trim().to_owned())
        }),
    });
    rows.collect()
}

/// Whether a name is one of the proof's cases: `tx performs/ledger::claim::after-claim/kill`.
#[must_use]
pub fn is_case(name: &str) -> bool {
    name.contains('/') && !name.starts_with("ui/") || name.ends_with(" by a crowd")
}

/// What is wrong with a page, but for names of the proof's cases.
#[must_use]
pub fn faults_of(page: &str, numbers: &[String]) -> Vec<String> {
    let rows = read(page);
    let mut wrong = Vec::new();
    let found: Vec<_> = rows.iter().map(|row| row.number.clone()).collect();
    if found != numbers {
        wrong.push(format!("the rows are {found:?}, and should be {numbers:?}"));
    }
    let (suite, others) = (sources::suite(), sources::others());
    let known = |name: &str| {
        let listed = suite.contains(name) || others.contains(name);
        listed || sources::is_ui_test(name) || is_case(name)
    };
    for row in &rows {
        let number = &row.number;
        let names: BTreeSet<_> = row.tests.iter().flatten().collect();
        let unknown = names.into_iter().filter(|name| !known(name));
        wrong.extend(unknown.map(|name| format!("{number}: there is no test `{name}`")));
        for ((database, tests), reason) in DATABASES.iter().zip(&row.tests).zip(&row.reasons) {
            match (tests.is_empty(), reason) {
                (true, None) => {
                    wrong.push(format!("{number}: {database} has no test, and no reason"))
                }
                (false, Some(_)) => {
                    wrong.push(format!(
                        "{number}: {database} has tests, and a reason for none"
                    ));
                }
                _ => {}
            }
        }
    }
    wrong
}
