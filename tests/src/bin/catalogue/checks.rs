//! What must not be.

use idempotent_tests::diagnostics::catalogue::{Row, Shown, Topic};
use idempotent_tests::diagnostics::page;
use idempotent_tests::diagnostics::wrong_use::{Said, WrongUse};

/// A kind of mistake, and where it was found.
pub struct Check {
    pub name: &'static str,
    pub found: Vec<String>,
}

/// A name of the hidden method that is meant to be read.
const ADVICE: &str = "__charge_needs_an_inherent_impl";

/// What the compiler adds where the tokens are none of the user's.
const ON_THE_ATTRIBUTE: &str = "this error originates in the attribute macro";

/// All checks.
pub fn all(topics: &[Topic], tests: &[WrongUse]) -> Vec<Check> {
    let rows = || topics.iter().flat_map(|topic| &topic.rows);
    let shown = || rows().flat_map(|row| &row.shown);
    let test = |shown: &Shown| tests.iter().find(|test| test.name == shown.test);
    let said = |shown: &Shown| test(shown).and_then(|test| test.said.as_ref());

    let without_a_test = rows().filter(|row| {
        let shows = |shown| test(shown).is_some_and(|test| test.source.contains(&shown.code));
        row.shown.is_empty() || !row.shown.iter().all(shows)
    });
    let lacking = rows().filter_map(|row| lacking(row, &said));
    let unintended = shown().filter_map(|shown| unintended(shown, said(shown)?));
    let unnamed = tests
        .iter()
        .filter(|test| !shown().any(|shown| shown.test == test.name));
    let twice = shown().enumerate().filter(|(at, shown_here)| {
        let mut before = shown().take(*at);
        before.any(|other| other.test == shown_here.test)
    });
    let on_the_attribute = shown().filter(|shown| {
        let told = said(shown).is_some_and(|said| said.text.contains(ON_THE_ATTRIBUTE));
        told != shown.on_the_attribute.is_some()
    });
    let stale = std::fs::read_to_string(page::path()).ok();
    let stale = stale.as_deref() != Some(page::text(topics, tests).as_str());
    let fixed: [(&'static str, Vec<String>); 9] = [
        (
            "rows without a test",
            without_a_test.map(|row| row.title.clone()).collect(),
        ),
        ("rows whose stderr lacks its phrase", lacking.collect()),
        (
            "stderr files with more errors than intended",
            unintended.collect(),
        ),
        (
            "stderr files with an error on the whole attribute",
            on_the_attribute.map(|shown| shown.test.clone()).collect(),
        ),
        ("tests that no row names", names(unnamed)),
        (
            "tests that two rows name",
            twice.map(|(_, shown)| shown.test.clone()).collect(),
        ),
        (
            "tests without a stderr",
            names(tests.iter().filter(|test| test.said.is_none())),
        ),
        (
            "tests that do not call their function",
            names(tests.iter().filter(|test| !test.is_called())),
        ),
        (
            "stale pages of the documentation",
            stale
                .then(|| "run with `-- --write-page`".to_owned())
                .into_iter()
                .collect(),
        ),
    ];
    let of_words: [(&'static str, IsWrong); 4] = [
        ("stderr files that name a private path", names_private),
        ("stderr files that list implementations", |line| {
            line.contains("following other types implement")
        }),
        ("stderr files that quote the standard library", quotes_std),
        ("stderr files with warnings", |line| {
            line.starts_with("warning")
        }),
    ];
    let fixed = fixed.map(|(name, found)| Check { name, found });
    let of_words = of_words.map(|(name, wrong)| Check {
        name,
        found: lines(tests, wrong),
    });
    fixed.into_iter().chain(of_words).collect()
}

/// Whether a line has no place in a message.
type IsWrong = fn(&str) -> bool;

fn names<'a>(tests: impl Iterator<Item = &'a WrongUse>) -> Vec<String> {
    tests.map(|test| test.name.clone()).collect()
}

/// The first phrase of a row that its tests do not say.
fn lacking<'a>(row: &Row, said: &impl Fn(&Shown) -> Option<&'a Said>) -> Option<String> {
    row.shown.iter().find_map(|shown| {
        let text = said(shown).map_or("", |said| &said.text);
        let missing = match shown.phrases.is_empty() {
            true => Some("a phrase"),
            false => {
                let mut phrases = shown.phrases.iter();
                phrases
                    .find(|phrase| !text.contains(*phrase))
                    .map(String::as_str)
            }
        };
        missing.map(|phrase| format!("{}: {phrase}", shown.test))
    })
}

/// What is wrong with the number of errors.
fn unintended(shown: &Shown, said: &Said) -> Option<String> {
    let (all, different) = (said.errors.len(), said.different_errors());
    let told = match shown.repeated {
        true => different,
        false => all,
    };
    let explained =
        (shown.errors > 1) == shown.rules.is_some() && shown.repeated == (all > different);
    (told != shown.errors || !explained)
        .then(|| format!("{}: {told}, intended: {}", shown.test, shown.errors))
}

/// The tests with such a line in their `.stderr`.
fn lines(tests: &[WrongUse], wrong: fn(&str) -> bool) -> Vec<String> {
    let found = tests.iter().filter_map(|test| {
        let line = test.said.as_ref()?.text.lines().find(|line| wrong(line))?;
        Some(format!("{}: {}", test.name, line.trim()))
    });
    found.collect()
}

fn names_private(line: &str) -> bool {
    // Lines and their numbers are joined by `_____`.
    let line = line.replace(ADVICE, "");
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut names = line.split(|character| !is_part(character));
    names.any(|name| name.starts_with("__") && name.contains(char::is_alphanumeric))
}

fn quotes_std(line: &str) -> bool {
    [
        "$RUST/",
        "/rustc/",
        "library/core/",
        "library/std/",
        "library/alloc/",
    ]
    .iter()
    .any(|path| line.contains(path))
}
