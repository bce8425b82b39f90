//! What the callers of the jobs saw.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use crate::task::{Job, Task};
use crate::worker::Answer;

/// Every call is performed, replayed, skipped, killed, or to be made again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub calls: u64,
    pub performed: u64,
    pub replayed: u64,
    pub skipped: u64,
    /// The worker was killed.
    pub kills: u64,
    /// Of these, between the effect and its completion.
    pub kills_in_between: u64,
    /// Turned away (busy, or a passing fault), and tried again.
    pub again: u64,
}

#[derive(Debug, Default)]
pub struct Tally {
    counts: BTreeMap<Job, Counts>,
    /// The distinct values that callers were given.
    answers: HashMap<Task, HashSet<Value>>,
}

impl Tally {
    pub fn called(&mut self, task: &Task) {
        self.of(task).calls += 1;
    }

    pub fn answered(&mut self, task: &Task, answer: Answer) {
        let counts = self.of(task);
        let value = match answer {
            Answer::Performed(value) => {
                counts.performed += 1;
                value
            }
            Answer::Replayed(value) => {
                counts.replayed += 1;
                value
            }
            Answer::Skipped => {
                counts.skipped += 1;
                return;
            }
        };
        self.answers.entry(task.clone()).or_default().insert(value);
    }

    pub fn killed(&mut self, task: &Task, in_between: bool) {
        let counts = self.of(task);
        counts.kills += 1;
        counts.kills_in_between += u64::from(in_between);
    }

    pub fn failed(&mut self, task: &Task) {
        self.of(task).again += 1;
    }

    pub fn counts(&self, job: Job) -> Counts {
        self.counts.get(&job).copied().unwrap_or_default()
    }

    /// How many different answers the callers of the task were given.
    pub fn answers(&self, task: &Task) -> u64 {
        self.answers
            .get(task)
            .map_or(0, |answers| answers.len() as u64)
    }

    fn of(&mut self, task: &Task) -> &mut Counts {
        self.counts.entry(task.job()).or_default()
    }
}
