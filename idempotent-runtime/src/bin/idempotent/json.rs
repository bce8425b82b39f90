//! Keys, steps and counts as JSON.

use std::io::{self, Write};

use idempotent_runtime::operators::{JobStats, KeyDetails, KeyInfo, KeyState};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::read::Results;
use crate::time::stamp;

/// Writes a value over several lines.
pub(crate) fn print(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

#[derive(Serialize)]
pub(crate) struct Key<'a> {
    key: &'a str,
    job: &'a str,
    state: &'static str,
    attempts: u32,
    held_by: Option<&'a str>,
    fence: u64,
    age_seconds: u64,
    first_at: String,
    claimed_at: String,
    finished_at: Option<String>,
    forget_at: Option<String>,
    lease_until: Option<String>,
    last_error: Option<&'a str>,
    inputs: &'a [String],
    result_bytes: Option<u64>,
}

impl<'a> Key<'a> {
    pub(crate) fn new(key: &'a KeyInfo) -> Self {
        Self {
            key: &key.key,
            job: &key.job,
            state: key.state.as_str(),
            attempts: key.attempts,
            held_by: (key.state == KeyState::Running).then_some(&*key.owner),
            fence: key.fence,
            age_seconds: key.age.as_secs(),
            first_at: stamp(key.first_at),
            claimed_at: stamp(key.claimed_at),
            finished_at: key.finished_at.map(stamp),
            forget_at: key.forget_at.map(stamp),
            lease_until: key.lease_until.map(stamp),
            last_error: key.last_error.as_deref(),
            inputs: &key.inputs,
            result_bytes: key.result_bytes,
        }
    }
}

/// A key with its steps. Results are there only where they were asked for, and as they are stored:
/// read as numbers, large ones would not come out as they went in.
#[derive(Serialize)]
pub(crate) struct Details<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    steps: Vec<Step<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Option<&'a RawValue>>,
}

#[derive(Serialize)]
struct Step<'a> {
    name: &'a str,
    at: String,
    fence: u64,
    result_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Option<&'a RawValue>>,
}

impl<'a> Details<'a> {
    pub(crate) fn new(details: &'a KeyDetails, results: Option<&'a Results>) -> Self {
        let steps = details.steps.iter().enumerate();
        let steps = steps.map(|(index, step)| Step {
            name: &step.name,
            at: stamp(step.at),
            fence: step.fence,
            result_bytes: step.result_bytes,
            result: results.map(|results| results.step(index)),
        });
        Self {
            key: Key::new(&details.info),
            steps: steps.collect(),
            result: results.map(Results::key),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Job<'a> {
    job: &'a str,
    running: u64,
    lapsed: u64,
    done: u64,
    expired: u64,
    in_doubt: u64,
    retried: u64,
    oldest_unfinished_seconds: Option<u64>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(job: &'a JobStats) -> Self {
        Self {
            job: &job.job,
            running: job.count(KeyState::Running),
            lapsed: job.count(KeyState::Lapsed),
            done: job.count(KeyState::Done),
            expired: job.count(KeyState::Expired),
            in_doubt: job.count(KeyState::InDoubt),
            retried: job.retried,
            oldest_unfinished_seconds: job.oldest_unfinished.map(|age| age.as_secs()),
        }
    }
}
