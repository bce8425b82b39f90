//! What the lab found, and how far it looked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::cause::Cause;
use super::scenario::{CutPoint, Scenario};

/// What the trials of a job came to.
///
/// `Display` says it in words: what differs and why, and how many cut points were covered.
#[derive(Debug, Clone)]
pub struct Report {
    /// Of one undisturbed run.
    statements: Vec<String>,
    /// At which waits, and after which statement, an attempt was killed.
    killed: BTreeSet<CutPoint>,
    dropped: usize,
    together: usize,
    stalled: usize,
    again: usize,
    differences: Vec<Difference>,
}

impl Report {
    pub(super) fn new(statements: Vec<String>) -> Self {
        Self {
            statements,
            killed: BTreeSet::new(),
            dropped: 0,
            together: 0,
            stalled: 0,
            again: 0,
            differences: Vec::new(),
        }
    }

    pub(super) fn killed(&mut self, at: &CutPoint) {
        self.killed.insert(at.clone());
    }

    pub(super) fn dropped(&mut self) {
        self.dropped += 1;
    }

    pub(super) fn together(&mut self) {
        self.together += 1;
    }

    pub(super) fn stalled(&mut self) {
        self.stalled += 1;
    }

    pub(super) fn tried_again(&mut self) {
        self.again += 1;
    }

    /// Notes a difference, and says whether there is one.
    pub(super) fn found(&mut self, difference: Option<Difference>) -> bool {
        let found = difference.is_some();
        self.differences.extend(difference);
        found
    }

    /// Whether every trial left what one run leaves.
    #[must_use]
    pub fn is_once(&self) -> bool {
        self.differences.is_empty()
    }

    /// The differences, at most one a kind of trial: the earliest.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// Where the job was killed: each distinct pair of a wait and the last statement before it.
    #[must_use]
    pub fn cut_points(&self) -> usize {
        self.killed.len()
    }

    /// The same, one by one, by their waits.
    pub fn cuts(&self) -> impl Iterator<Item = &CutPoint> {
        self.killed.iter()
    }

    /// The statements of one run after which it was never cut off. What begins or ends a transaction
    /// is not among them: sqlx does not log all of it.
    #[must_use]
    pub fn statements_never_last(&self) -> Vec<&str> {
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        for point in &self.killed {
            *last.entry(point.statement().unwrap_or("")).or_default() += 1;
        }
        let statements = self.statements.iter().map(String::as_str);
        statements
            .filter(|sql| !last.contains_key(sql) && !ends_or_begins(sql))
            .collect()
    }

    /// Passes where every trial left what one run leaves.
    ///
    /// # Panics
    ///
    /// With the report, where one did not.
    #[track_caller]
    pub fn assert_once(&self) {
        assert!(self.is_once(), "\n{self}\n");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_once() {
            write!(f, "this job is not idempotent\n\n")?;
            for (at, difference) in self.differences.iter().enumerate() {
                write!(f, "{}. {difference}\n\n", at + 1)?;
            }
        }
        write!(
            f,
            "{} cut points (wait × last statement, of {} statements); called again {}, dropped {}, \
             overlapped {}, stalled {}",
            self.cut_points(),
            self.statements.len(),
            Times(self.again),
            Times(self.dropped),
            Times(self.together),
            Times(self.stalled),
        )
    }
}

/// A statement about a transaction, and not in it.
fn ends_or_begins(sql: &str) -> bool {
    const WORDS: [&str; 6] = [
        "BEGIN",
        "START",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT",
        "RELEASE",
    ];
    let first = sql.split_whitespace().next().unwrap_or_default();
    WORDS.iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// "once", "12 times".
struct Times(usize);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("never"),
            1 => f.write_str("once"),
            n => write!(f, "{n} times"),
        }
    }
}

/// A trial that left something else than one run does.
#[derive(Debug, Clone)]
pub struct Difference {
    scenario: Scenario,
    failure: Option<String>,
    diff: String,
    cause: Option<Cause>,
}

impl Difference {
    pub(super) fn new(
        scenario: Scenario,
        failure: Option<String>,
        diff: String,
        cause: Option<Cause>,
    ) -> Self {
        Self {
            scenario,
            failure,
            diff,
            cause,
        }
    }

    /// What was done to the job.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The error of a call that never succeeded, in words.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// What differs from what one run leaves, in words; empty where only a call failed.
    #[must_use]
    pub fn diff(&self) -> &str {
        &self.diff
    }

    /// The likely mistake, where it is one of those that the lab knows.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        self.cause.as_ref()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scenario)?;
        if let Some(failure) = &self.failure {
            write!(f, "\n   a call never succeeded: {failure}")?;
        }
        if !self.diff.is_empty() {
            write!(f, "\n   {}", self.diff.replace('\n', "\n   "))?;
        }
        match &self.cause {
            Some(cause) => write!(f, "\n   Likely: {cause}."),
            None => write!(
                f,
                "\n   No known mistake explains it: look at what the job had done up to there."
            ),
        }
    }
}
