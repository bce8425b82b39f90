//! One key, as an operator sees it.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::dialect::operators::{KeyRow, StepRow};

/// How a key stands.
///
/// A transactional job at work shows in no state: its claim is not committed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KeyState {
    /// An attempt holds it, by a lease that has not ended.
    Running,
    /// An attempt was left unfinished, or failed: the next call takes the key over.
    Lapsed,
    /// Finished; its result is replayed.
    Done,
    /// Finished, and kept for as long as its job's `retain` says: the next
    /// [`purge`](crate::Store::purge) forgets it. Until then its result is replayed.
    Expired,
    /// Only a person can tell whether the work was done: see [`Store::resolve`](crate::Store::resolve).
    InDoubt,
}

impl KeyState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Running,
        Self::Lapsed,
        Self::Done,
        Self::Expired,
        Self::InDoubt,
    ];

    /// The state in one word: `running`, `lapsed`, `done`, `expired`, `in-doubt`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Lapsed => "lapsed",
            Self::Done => "done",
            Self::Expired => "expired",
            Self::InDoubt => "in-doubt",
        }
    }

    pub(super) const fn number(self) -> u8 {
        self as u8
    }

    pub(super) fn from_number(number: i64) -> Self {
        let states = Self::ALL.into_iter();
        let mut known = states.filter(|state| i64::from(state.number()) == number);
        // What a later version means is not known here.
        known.next().unwrap_or(Self::InDoubt)
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for KeyState {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        let mut states = Self::ALL.into_iter();
        states
            .find(|state| state.as_str() == text)
            .ok_or(UnknownState(()))
    }
}

/// A text that names no [`KeyState`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a state is `running`, `lapsed`, `done`, `expired` or `in-doubt`")]
pub struct UnknownState(());

/// A key of the ledger, without its result. Times are the database's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// The key, as encoded.
    pub key: String,
    /// The recorded name of its job.
    pub job: String,
    /// How it stands.
    pub state: KeyState,
    /// How many attempts there were.
    pub attempts: u32,
    /// The last attempt's token: 32 hexadecimal digits, new for each attempt. That of a running key
    /// is its holder's.
    pub owner: String,
    /// The last attempt's fencing number, greater than those of the attempts before.
    pub fence: u64,
    /// The names of the inputs that are compared between attempts. (Of their values the ledger knows
    /// fingerprints only.)
    pub inputs: Vec<String>,
    /// The size of the stored result, in bytes.
    pub result_bytes: Option<u64>,
    /// How the last attempt ended, or what left the key in doubt; no values.
    pub last_error: Option<String>,
    /// When the first attempt began.
    pub first_at: SystemTime,
    /// When the last attempt began.
    pub claimed_at: SystemTime,
    /// When it was finished.
    pub finished_at: Option<SystemTime>,
    /// From when on a purge forgets it.
    pub forget_at: Option<SystemTime>,
    /// When the lease ends, or ended, unless it is renewed; `None` where an attempt let go of it.
    pub lease_until: Option<SystemTime>,
    /// The time since the first attempt began, at the time of reading.
    pub age: Duration,
}

impl KeyInfo {
    pub(super) fn from_row(row: KeyRow) -> Self {
        let inputs: BTreeMap<String, String> = row
            .inputs
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        Self {
            key: row.key,
            job: row.job,
            state: KeyState::from_number(row.state),
            attempts: row.attempts.try_into().unwrap_or(0),
            owner: hex(&row.owner),
            fence: row.fence.try_into().unwrap_or(0),
            inputs: inputs.into_keys().collect(),
            result_bytes: row.result_bytes.and_then(|bytes| bytes.try_into().ok()),
            last_error: row.last_error,
            first_at: at(row.first_at),
            claimed_at: at(row.claimed_at),
            finished_at: row.finished_at.map(at),
            forget_at: row.forget_at.map(at),
            // A released lease is one that ended in 1970.
            lease_until: row.lease_until.filter(|&until| until > 0).map(at),
            age: since(row.now - row.first_at),
        }
    }
}

/// A key, and what its attempts recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyDetails {
    /// The key.
    pub info: KeyInfo,
    /// Its recovery points, in their order.
    pub steps: Vec<StepInfo>,
}

/// A recovery point of a leased job, without its result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepInfo {
    /// Its name.
    pub name: String,
    /// The fencing number of the attempt that recorded it.
    pub fence: u64,
    /// When it was recorded.
    pub at: SystemTime,
    /// The size of its result, in bytes.
    pub result_bytes: u64,
}

impl StepInfo {
    pub(super) fn from_row(row: StepRow) -> Self {
        Self {
            name: row.name,
            fence: row.fence.try_into().unwrap_or(0),
            at: at(row.at),
            result_bytes: row.result_bytes.try_into().unwrap_or(0),
        }
    }
}

/// A time of the database's, from its milliseconds.
fn at(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + since(millis)
}

/// A duration from milliseconds; none is negative.
pub(super) fn since(millis: i64) -> Duration {
    Duration::from_millis(millis.try_into().unwrap_or(0))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
