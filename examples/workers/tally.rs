//! What the parent saw of its workers.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use crate::payload::{Job, Kind};
use crate::worker::Told;

/// What the queue was told. A worker that was killed told nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub performed: u64,
    pub replayed: u64,
    pub skipped: u64,
    /// Failed, and to be tried again.
    pub again: u64,
    /// Failed, and never to be tried again.
    pub never: u64,
    /// Workers that were killed between the effect and its mark.
    pub kills: u64,
}

#[derive(Debug, Default)]
pub struct Tally {
    counts: BTreeMap<Kind, Counts>,
    /// The distinct values that the queue was given.
    answers: HashMap<Job, HashSet<Value>>,
    /// Workers that ended by themselves, as the queue asks of one that missed its heartbeats.
    pub fallen: u64,
}

impl Tally {
    pub fn told(&mut self, job: Job, told: Told) {
        let counts = self.counts.entry(job.kind).or_default();
        let answer = match told {
            Told::Answered(answer) => answer,
            Told::Again => {
                counts.again += 1;
                return;
            }
            Told::Never => {
                counts.never += 1;
                return;
            }
        };
        // An annotated handler gives an `Outcome`; one by hand gives what it did, or null.
        let value = match answer.get("outcome").and_then(Value::as_str) {
            Some("replayed") => {
                counts.replayed += 1;
                answer["value"].clone()
            }
            Some("skipped") => {
                counts.skipped += 1;
                return;
            }
            Some(_) => {
                counts.performed += 1;
                answer["value"].clone()
            }
            None if answer.is_null() => {
                counts.skipped += 1;
                return;
            }
            None => {
                counts.performed += 1;
                answer
            }
        };
        self.answers.entry(job).or_default().insert(value);
    }

    pub fn killed(&mut self, job: Job) {
        self.counts.entry(job.kind).or_default().kills += 1;
    }

    pub fn counts(&self, kind: Kind) -> Counts {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// How many different answers the job gave.
    pub fn answers(&self, job: Job) -> usize {
        self.answers.get(&job).map_or(0, HashSet::len)
    }
}
