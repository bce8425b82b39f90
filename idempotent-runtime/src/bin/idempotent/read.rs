//! `list`, `show`, `stats`: what only reads.

use std::io::{self, Write};

use idempotent_runtime::operators::{Filter, KeyDetails, KeyInfo, KeyState, StepInfo};
use idempotent_runtime::{Backend, Store};
use serde_json::value::RawValue;

use crate::args::{List, Show};
use crate::failure::Failure;
use crate::json;
use crate::table;
use crate::time::{relative, span, stamp};

pub(crate) async fn list<DB: Backend>(
    store: &Store<DB>,
    list: &List,
    json: bool,
) -> Result<(), Failure> {
    let mut filter = Filter::new().limit(list.limit);
    for &state in &list.status {
        filter = filter.state(state);
    }
    if let Some(job) = &list.job {
        filter = filter.job(job);
    }
    if let Some(prefix) = &list.prefix {
        filter = filter.prefix(prefix);
    }
    if let Some(age) = list.older_than {
        filter = filter.older_than(age);
    }
    if let Some(age) = list.newer_than {
        filter = filter.newer_than(age);
    }
    if let Some(key) = &list.after {
        filter = filter.after(key);
    }
    let keys = store.keys(&filter).await?;
    let mut out = io::stdout().lock();
    if json {
        let keys: Vec<json::Key<'_>> = keys.iter().map(json::Key::new).collect();
        return Ok(json::print(&mut out, &keys)?);
    }
    let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
    table::print(
        &mut out,
        &["KEY", "JOB", "STATE", "ATTEMPTS", "AGE", "NOTE"],
        &rows,
    )?;
    drop(out);
    if keys.len() as u64 >= u64::from(list.limit)
        && let Some(last) = keys.last()
    {
        eprintln!("there may be more: add `--after {:?}`", last.key);
    }
    Ok(())
}

fn row(key: &KeyInfo) -> Vec<String> {
    vec![
        key.key.clone(),
        key.job.clone(),
        key.state.to_string(),
        key.attempts.to_string(),
        span(key.age),
        note(key),
    ]
}

/// What matters most about a key in its state.
fn note(key: &KeyInfo) -> String {
    let now = key.first_at + key.age;
    match key.state {
        KeyState::Running => match key.lease_until {
            Some(until) => format!("lease ends {}", relative(until, now)),
            None => String::new(),
        },
        KeyState::Done => match key.forget_at {
            Some(at) => format!("kept until {}", stamp(at)),
            None => String::new(),
        },
        KeyState::Expired => "the next purge forgets it".to_owned(),
        _ => key.last_error.clone().unwrap_or_default(),
    }
}

pub(crate) async fn show<DB: Backend>(
    store: &Store<DB>,
    show: &Show,
    json: bool,
) -> Result<(), Failure> {
    let Some(details) = store.key(&show.key).await? else {
        return Err(Failure::NoSuchKey(show.key.clone()));
    };
    let results = match show.result {
        true => Some(Results::read(store, &details).await?),
        false => None,
    };
    let mut out = io::stdout().lock();
    match json {
        true => json::print(&mut out, &json::Details::new(&details, results.as_ref()))?,
        false => details_text(&mut out, &details, results.as_ref())?,
    }
    Ok(())
}

/// The stored results of a key, as they are stored.
pub(crate) struct Results {
    key: Option<Box<RawValue>>,
    steps: Vec<Option<Box<RawValue>>>,
}

impl Results {
    async fn read<DB: Backend>(store: &Store<DB>, details: &KeyDetails) -> Result<Self, Failure> {
        let key = &details.info.key;
        let mut steps = Vec::new();
        for step in &details.steps {
            steps.push(store.step_result(key, &step.name).await?);
        }
        Ok(Self {
            key: store.result(key).await?,
            steps,
        })
    }

    pub(crate) fn key(&self) -> Option<&RawValue> {
        self.key.as_deref()
    }

    pub(crate) fn step(&self, index: usize) -> Option<&RawValue> {
        self.steps.get(index)?.as_deref()
    }
}

fn details_text(
    out: &mut impl Write,
    details: &KeyDetails,
    results: Option<&Results>,
) -> io::Result<()> {
    let key = &details.info;
    let now = key.first_at + key.age;
    let when = |time| format!("{} ({})", stamp(time), relative(time, now));
    let mut fields = vec![
        ("key", key.key.clone()),
        ("job", key.job.clone()),
        ("state", key.state.to_string()),
        ("attempts", key.attempts.to_string()),
        ("first attempt", when(key.first_at)),
        ("last attempt", when(key.claimed_at)),
    ];
    match key.state {
        KeyState::Running => {
            fields.push(("held by", format!("{}, fence {}", key.owner, key.fence)));
        }
        _ => fields.push(("held by", "nobody".to_owned())),
    }
    let times = [
        ("lease until", key.lease_until),
        ("finished", key.finished_at),
        ("kept until", key.forget_at),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            fields.push((name, when(time)));
        }
    }
    if let Some(error) = &key.last_error {
        fields.push(("ended", error.clone()));
    }
    if !key.inputs.is_empty() {
        fields.push(("inputs", key.inputs.join(", ")));
    }
    if let Some(bytes) = key.result_bytes {
        fields.push(("result", result_text(bytes, results, Results::key)));
    }
    table::fields(out, &fields)?;
    if details.steps.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let step = |(index, step): (usize, &StepInfo)| {
        let result = result_text(step.result_bytes, results, |results| results.step(index));
        vec![
            step.name.clone(),
            stamp(step.at),
            step.fence.to_string(),
            result,
        ]
    };
    let rows: Vec<Vec<String>> = details.steps.iter().enumerate().map(step).collect();
    table::print(out, &["STEP", "RECORDED", "FENCE", "RESULT"], &rows)
}

/// A result where it was asked for, and its size otherwise.
fn result_text<'r>(
    bytes: u64,
    results: Option<&'r Results>,
    result: impl FnOnce(&'r Results) -> Option<&'r RawValue>,
) -> String {
    match results {
        None => format!("{bytes} bytes"),
        Some(results) => result(results).map_or_else(String::new, ToString::to_string),
    }
}

pub(crate) async fn stats<DB: Backend>(store: &Store<DB>, json: bool) -> Result<(), Failure> {
    let stats = store.stats().await?;
    let mut out = io::stdout().lock();
    if json {
        let jobs: Vec<json::Job<'_>> = stats.jobs.iter().map(json::Job::new).collect();
        return Ok(json::print(&mut out, &jobs)?);
    }
    let rows: Vec<Vec<String>> = stats
        .jobs
        .iter()
        .map(|job| {
            let mut row = vec![job.job.clone()];
            row.extend(KeyState::ALL.map(|state| job.count(state).to_string()));
            row.push(job.retried.to_string());
            row.push(job.oldest_unfinished.map_or_else(String::new, span));
            row
        })
        .collect();
    let headings = [
        "JOB",
        "RUNNING",
        "LAPSED",
        "DONE",
        "EXPIRED",
        "IN-DOUBT",
        "RETRIED",
        "OLDEST UNFINISHED",
    ];
    Ok(table::print(&mut out, &headings, &rows)?)
}
