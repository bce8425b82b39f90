//! The promises, over what was seen and what is left. Written once, for the sweep, the soak and the
//! mutants; a promise that is broken is named.

use std::collections::{BTreeMap, BTreeSet};

use super::database::Left;

/// A promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Promise {
    /// The effect of a key is there at most once.
    OneEffect,
    /// A key is done exactly where its effect is there (and its guard's mark, if it has one).
    DoneIffEffect,
    /// All replies of a key are equal, to the byte, and equal to what is stored.
    EqualReplies,
    /// The gateway has charged for each key that is done; and never twice, if it honours keys.
    OneCharge,
    /// A reply that a caller has got stays true: the key is still done.
    StillDone,
    /// When all is at rest, no row says that an attempt is at work.
    NoneRunning,
    /// Every attempt has a fence of its own, the ledger's is the last, and the last one completes.
    NewestCompletes,
    /// While an attempt holds its key, no other begins.
    OneAtATime,
    /// No session is left in a transaction, and no lock is left.
    NoneInTransaction,
    /// What is written by itself, on a connection that a job has used, stays.
    CleanPool,
    /// Every call can be made again until it is answered.
    Answered,
}

impl Promise {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::OneEffect,
        Self::DoneIffEffect,
        Self::EqualReplies,
        Self::OneCharge,
        Self::StillDone,
        Self::NoneRunning,
        Self::NewestCompletes,
        Self::OneAtATime,
        Self::NoneInTransaction,
        Self::CleanPool,
        Self::Answered,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OneEffect => "effects per key <= 1",
            Self::DoneIffEffect => "done <=> effect",
            Self::EqualReplies => "all replies of a key are equal",
            Self::OneCharge => "charges per key = 1",
            Self::StillDone => "acknowledged => still done",
            Self::NoneRunning => "no running row at rest",
            Self::NewestCompletes => "fences grow, and the newest attempt completes",
            Self::OneAtATime => "one attempt at a time",
            Self::NoneInTransaction => "no session left in a transaction, no lock left",
            Self::CleanPool => "a pool's next statement is in no transaction",
            Self::Answered => "every call is answered in the end",
        }
    }
}

/// A promise that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Which.
    pub promise: Promise,
    /// For which key.
    pub key: String,
    /// How.
    pub how: String,
}

/// A row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: String,
    /// 0 running, 1 done, 2 in doubt.
    pub status: i64,
    /// The last attempt's fence.
    pub fence: i64,
    /// The stored result.
    pub result: Option<Vec<u8>>,
}

impl From<(String, i64, i64, Option<Vec<u8>>)> for Row {
    fn from((key, status, fence, result): (String, i64, i64, Option<Vec<u8>>)) -> Self {
        Self {
            key,
            status,
            fence,
            result,
        }
    }
}

/// An attempt of a leased job that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The key.
    pub key: String,
    /// Its name.
    pub run: String,
    /// How often the key was forgotten by hand before, and the attempt's fence since.
    pub order: (i64, i64),
}

impl From<(String, String, i64, i64)> for Attempt {
    fn from((key, run, epoch, fence): (String, String, i64, i64)) -> Self {
        Self {
            key,
            run,
            order: (epoch, fence),
        }
    }
}

/// What was seen from outside.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The values that callers got, by key.
    pub replies: BTreeMap<String, Vec<String>>,
    /// The keys whose callers were told that there was nothing to do.
    pub skipped: BTreeSet<String>,
    /// The keys that were called, and never answered.
    pub unanswered: BTreeSet<String>,
    /// Charges by key.
    pub charges: BTreeMap<String, u64>,
    /// Whether the gateway honours keys, for as long as it matters: otherwise a charge may be made
    /// again, as the documentation says.
    pub honours_keys: bool,
    /// The keys that an attempt began on while another one held it, and how.
    pub overlaps: BTreeMap<String, String>,
    /// How many sessions were in a transaction when all was at rest.
    pub in_transaction: i64,
}

/// Checks what is left, and what was seen.
#[must_use]
pub fn check(seen: &Seen, left: &Left) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut broken = |promise, key: &str, how: String| {
        found.push(Violation {
            promise,
            key: key.to_owned(),
            how,
        });
    };
    let rows: BTreeMap<&str, &Row> = left.rows.iter().map(|row| (&*row.key, row)).collect();
    let mut effects: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, run) in &left.effects {
        effects.entry(key).or_default().push(run);
    }

    for (key, runs) in &effects {
        if runs.len() > 1 {
            broken(
                Promise::OneEffect,
                key,
                format!("{} effects: {runs:?}", runs.len()),
            );
        }
        // A step's effect is there once the step is; the job may yet have to go on.
        if !key.contains('/') && rows.get(key).is_none_or(|row| row.status != 1) {
            broken(
                Promise::DoneIffEffect,
                key,
                "an effect, and not done".to_owned(),
            );
        }
    }
    for row in &left.rows {
        let key = &*row.key;
        // An attempt after one that was cut off may find nothing to do: the row stays, released.
        if row.status == 0 && !seen.skipped.contains(key) {
            broken(Promise::NoneRunning, key, format!("fence {}", row.fence));
        }
        if row.status != 1 {
            continue;
        }
        if !effects.contains_key(key) {
            broken(
                Promise::DoneIffEffect,
                key,
                "done, without its effect".to_owned(),
            );
        }
        if key.starts_with("guarded_") && !left.marks.iter().any(|marked| marked == key) {
            broken(
                Promise::DoneIffEffect,
                key,
                "done, without its mark".to_owned(),
            );
        }
        if charges(key) && seen.charges.get(key).copied().unwrap_or(0) == 0 {
            broken(
                Promise::OneCharge,
                key,
                "done, and never charged".to_owned(),
            );
        }
    }
    for (key, &charges) in &seen.charges {
        if charges > 1 && seen.honours_keys {
            broken(Promise::OneCharge, key, format!("charged {charges} times"));
        }
    }

    for (key, replies) in &seen.replies {
        let row = rows.get(&**key).filter(|row| row.status == 1);
        let stored = row.and_then(|row| serde_json::from_slice(row.result.as_deref()?).ok());
        match stored {
            None => broken(Promise::StillDone, key, "answered, and not done".to_owned()),
            Some::<String>(stored) => {
                if let Some(other) = replies.iter().find(|reply| **reply != stored) {
                    let how = format!("{other:?}, and {stored:?} is stored");
                    broken(Promise::EqualReplies, key, how);
                }
            }
        }
    }
    for key in &seen.unanswered {
        broken(Promise::Answered, key, "never answered".to_owned());
    }
    for (key, how) in &seen.overlaps {
        broken(Promise::OneAtATime, key, how.clone());
    }
    if seen.in_transaction != 0 {
        let how = format!("{} sessions", seen.in_transaction);
        broken(Promise::NoneInTransaction, "-", how);
    }
    attempts(left, &rows, &effects, &mut broken);
    found
}

/// Whether a job's key stands for a charge.
fn charges(key: &str) -> bool {
    ["leased_", "guarded_", "steps_"]
        .iter()
        .any(|kind| key.starts_with(kind))
}

fn attempts(
    left: &Left,
    rows: &BTreeMap<&str, &Row>,
    effects: &BTreeMap<&str, Vec<&str>>,
    broken: &mut impl FnMut(Promise, &str, String),
) {
    let mut by_key: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
    for attempt in &left.attempts {
        by_key.entry(&attempt.key).or_default().push(attempt);
    }
    for (key, mut attempts) in by_key {
        attempts.sort_by_key(|attempt| attempt.order);
        if let Some(pair) = attempts
            .windows(2)
            .find(|pair| pair[0].order == pair[1].order)
        {
            let how = format!("{} and {} have one fence", pair[0].run, pair[1].run);
            broken(Promise::NewestCompletes, key, how);
        }
        let (Some(row), Some(newest)) = (rows.get(key), attempts.last()) else {
            continue;
        };
        if newest.order.1 > row.fence {
            let how = format!("fence {}, and {} in the ledger", newest.order.1, row.fence);
            broken(Promise::NewestCompletes, key, how);
        }
        if let Some(run) = effects.get(key).and_then(|runs| runs.first())
            && *run != newest.run
        {
            let how = format!("{run} has completed, and {} is newer", newest.run);
            broken(Promise::NewestCompletes, key, how);
        }
    }
}
