//! The names of the tests, as their sources list them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where the tests are: the name that begins theirs, and the file or folder.
const PLACES: &[(&str, &str)] = &[
    ("mysql_only", "tests/mysql"),
    ("pg_dialect", "tests/tests/pg_dialect"),
    ("servers", "tests/tests/servers"),
    ("tables", "tests/tests/tables.rs"),
    ("servers", "tests/tests/servers"),
    ("sqlite_setup", "tests/tests/sqlite_setup.rs"),
    ("sqlite_cuts", "tests/tests/sqlite_cuts.rs"),
    ("metrics", "tests/tests/metrics.rs"),
    ("lab", "tests/lab"),
    ("proof_tests", "tests/src/proof"),
    ("model", "tests/src/model"),
    ("runtime", "idempotent-runtime/src"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The tests of the suite for all databases: `topic::name`.
#[must_use]
pub fn suite() -> BTreeSet<String> {
    tests_in(&root().join("tests/suite"))
}

/// The tests of all other places: `place::topic::name`.
#[must_use]
pub fn others() -> BTreeSet<String> {
    let places = PLACES.iter().flat_map(|(name, path)| {
        let found = tests_in(&root().join(path));
        assert!(!found.is_empty(), "there are no tests in {path}");
        found.into_iter().map(move |test| format!("{name}::{test}"))
    });
    places.collect()
}

/// Whether a file of wrong use is there: `ui/fail/args/…rs`.
#[must_use]
pub fn is_ui_test(name: &str) -> bool {
    name.starts_with("ui/") && root().join("tests").join(name).is_file()
}

/// The tests of a file, or of a folder's files, each with the path to its module.
fn tests_in(path: &Path) -> BTreeSet<String> {
    if path.is_file() {
        return tests_of(path);
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut found = BTreeSet::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        if path.is_dir() {
            let inner = tests_in(&path).into_iter();
            found.extend(inner.map(|test| format!("{name}::{test}")));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let own = tests_of(&path).into_iter();
            found.extend(own.map(|test| match &*name {
                "mod" | "main" | "lib" => test,
                _ => format!("{name}::{test}"),
            }));
        }
    }
    found
}

/// The tests of one file: those of a list `tests!(…)`, `cases!(…)` or `list!(…)`, or the functions
/// below `#[test]`.
fn tests_of(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).expect("a source");
    let lists = [
        "idempotent_tests::tests!(",
        "idempotent_tests::cases!(",
        "super::list!(",
    ];
    let lists = lists.iter().flat_map(|begin| text.split(begin).skip(1));
    let listed = lists.flat_map(|list| {
        let list = list.split(')').next().unwrap_or_default();
        // `name`, or `NEED => name`.
        let names = list.split(',').filter_map(|name| name.split("=> ").last());
        names.map(str::trim).filter(|name| !name.is_empty())
    });
    let attribute = ["#[test]", "#[tokio::test"];
    let mut marked = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        is_test |= attribute.iter().any(|begin| line.starts_with(begin));
        let function = line.strip_prefix("async ").unwrap_or(line);
        if let Some(rest) = function.strip_prefix("fn ")
            && std::mem::take(&mut is_test)
        {
            marked.extend(rest.split(['(', '<']).next());
        }
    }
    listed.chain(marked).map(str::to_owned).collect()
}
