//! What the lab found, and how far it looked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::cause::Cause;

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

    /// The statements of one run after which it was never cut off: `BEGIN` and `COMMIT` are not
    /// among them, for sqlx does not log them.
    #[must_use]
    pub fn statements_never_last(&self) -> Vec<&str> {
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        for point in &self.killed {
            *last.entry(point.statement().unwrap_or("")).or_default() += 1;
        }
        let statements = self.statements.iter().map(String::as_str);
        statements.filter(|sql| !last.contains_key(sql)).collect()
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

/// Where an attempt was left standing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CutPoint {
    wait: usize,
    statement: Option<String>,
}

impl CutPoint {
    pub(super) fn new(wait: usize, statement: Option<String>) -> Self {
        Self { wait, statement }
    }

    /// At which of its waits (the `n`-th `Poll::Pending` of the job's future), from 1.
    #[must_use]
    pub fn wait(&self) -> usize {
        self.wait
    }

    /// The last statement that had run; the ledger's are among them.
    #[must_use]
    pub fn statement(&self) -> Option<&str> {
        self.statement.as_deref()
    }
}

impl fmt::Display for CutPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let th = match (self.wait % 10, self.wait % 100) {
            (1, n) if n != 11 => "st",
            (2, n) if n != 12 => "nd",
            (3, n) if n != 13 => "rd",
            _ => "th",
        };
        write!(f, "its {}{th} wait, ", self.wait)?;
        match &self.statement {
            Some(sql) => write!(f, "after\n     {}", shortened(sql)),
            None => f.write_str("before any statement"),
        }
    }
}

/// A statement as far as it tells where the job was.
fn shortened(sql: &str) -> String {
    const LENGTH: usize = 150;
    match sql.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{} …", &sql[..end]),
        None => sql.to_owned(),
    }
}

/// What was done to the job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scenario {
    /// Called once more after it was done.
    Again,
    /// Its process killed there; another one retried when the lease was over.
    Killed(CutPoint),
    /// Its future dropped there; the call was made again on the same store.
    Dropped(CutPoint),
    /// Two calls at once.
    Together {
        /// The wait of the first call at which the second began.
        apart: usize,
        /// Whether on one store, or each on its own as in two processes.
        one_store: bool,
    },
    /// Left standing there until its lease was over and another attempt was done; then it went on.
    Stalled(CutPoint),
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again => f.write_str("called once more after it was done"),
            Self::Killed(at) => write!(f, "killed at {at}\n   and retried by another process"),
            Self::Dropped(at) => {
                write!(
                    f,
                    "its future dropped at {at}\n   and called again on the same store"
                )
            }
            Self::Together { apart, one_store } => {
                let place = if *one_store {
                    "on one store"
                } else {
                    "in two processes"
                };
                match apart {
                    0 => write!(f, "called twice at once, {place}"),
                    _ => write!(
                        f,
                        "called twice at once, {place}, the second time at wait {apart} of the first"
                    ),
                }
            }
            Self::Stalled(at) => write!(
                f,
                "stopped at {at}\n   until its lease was over and another attempt was done; then it went on"
            ),
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
