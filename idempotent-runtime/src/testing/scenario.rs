//! What was done to a job, and where.

use std::fmt;

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
