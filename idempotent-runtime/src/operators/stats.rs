//! How many keys there are, by job and state.

use std::time::Duration;

use super::key::{KeyState, since};
use crate::dialect::operators::CountRow;

/// How many keys a ledger has; what [`Store::stats`](crate::Store::stats) gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// By job, in the order of their names; jobs without a key are not known.
    pub jobs: Vec<JobStats>,
}

/// How many keys of a job there are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobStats {
    /// The recorded name of the job.
    pub job: String,
    /// Keys that took more than one attempt.
    pub retried: u64,
    /// The age of the oldest key that is not finished.
    pub oldest_unfinished: Option<Duration>,
    counts: [u64; KeyState::ALL.len()],
}

impl JobStats {
    /// How many keys are in this state.
    #[must_use]
    pub fn count(&self, state: KeyState) -> u64 {
        self.counts[usize::from(state.number())]
    }

    /// How many keys there are.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Stats {
    /// How many keys are in this state, of all jobs.
    #[must_use]
    pub fn count(&self, state: KeyState) -> u64 {
        self.jobs.iter().map(|job| job.count(state)).sum()
    }

    /// How many keys there are.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.jobs.iter().map(JobStats::keys).sum()
    }

    /// From counts in the order of the jobs' names.
    pub(super) fn from_rows(rows: Vec<CountRow>) -> Self {
        let mut jobs: Vec<JobStats> = Vec::new();
        for row in rows {
            if jobs.last().is_none_or(|last| last.job != row.job) {
                jobs.push(JobStats {
                    job: row.job,
                    retried: 0,
                    oldest_unfinished: None,
                    counts: [0; KeyState::ALL.len()],
                });
            }
            let Some(job) = jobs.last_mut() else { continue };
            let state = KeyState::from_number(row.state);
            job.counts[usize::from(state.number())] += u64::try_from(row.keys).unwrap_or(0);
            job.retried += u64::try_from(row.retried).unwrap_or(0);
            if !matches!(state, KeyState::Done | KeyState::Expired) {
                job.oldest_unfinished = job.oldest_unfinished.max(Some(since(row.oldest)));
            }
        }
        Self { jobs }
    }
}
