//! The row of a key, and what is sent to the dialect to change it.

use std::time::Duration;

use crate::key::Key;

/// How far a key's work has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Claimed, and not finished.
    Running,
    /// Finished; the result is stored.
    Done,
    /// Only a person, or `reconcile`, can tell.
    InDoubt,
}

impl Status {
    pub(crate) fn from_number(number: i16) -> Self {
        match number {
            0 => Self::Running,
            1 => Self::Done,
            // A number of a later version is not ours to run over.
            _ => Self::InDoubt,
        }
    }
}

/// The lease of a row, by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// Not a leased job's row.
    None,
    /// Held for so long yet.
    Held(Duration),
    /// Ended: whoever comes may take over.
    Ended,
}

impl Lease {
    /// From the milliseconds that are left.
    pub(crate) fn from_left(left: Option<i64>) -> Self {
        match left.map(u64::try_from) {
            None => Self::None,
            Some(Ok(left)) => Self::Held(Duration::from_millis(left)),
            Some(Err(_)) => Self::Ended,
        }
    }
}

/// A key's row as it was read.
#[derive(Debug, Clone)]
pub struct Record {
    pub(crate) job: String,
    pub(crate) inputs: Option<String>,
    pub(crate) status: Status,
    pub(crate) owner: Vec<u8>,
    pub(crate) fence: i64,
    pub(crate) lease: Lease,
    /// Since the first attempt.
    pub(crate) age: Duration,
    pub(crate) result: Option<Vec<u8>>,
    pub(crate) last_error: Option<String>,
}

/// What a call brings to claim its key.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(all(feature = "postgres", feature = "mysql")),
    allow(dead_code, reason = "not every database asks for all of it")
)]
pub struct Claim<'a> {
    pub(crate) key: &'a Key,
    pub(crate) job: &'static str,
    pub(crate) inputs: Option<&'a str>,
    /// Who claims: new for each attempt.
    pub(crate) owner: [u8; 16],
    /// Within a transaction of the caller's.
    pub(crate) joined: bool,
    /// The body's writes may have to be undone alone.
    pub(crate) mark: bool,
    /// Whether another claim of the key that is under way is waited for; if not, it is tried once
    /// (PostgreSQL).
    pub(crate) in_turn: bool,
    /// How long a lock may be waited for.
    pub(crate) lock_wait: Duration,
    /// The key's row was put down by [`reserve`](crate::dialect::Dialect::reserve).
    pub(crate) reserved: bool,
}

/// What became of a claim within a transaction.
#[derive(Debug)]
pub enum Claimed<T> {
    /// The key is ours; the token completes it.
    Fresh(T),
    /// The key has a row, here it is unless another statement has to read it.
    Taken(Option<Record>),
}

/// What completes a key.
#[derive(Debug, Clone, Copy)]
pub struct Finish<'a> {
    pub(crate) result: &'a [u8],
    /// How long to remember it; forever by default.
    pub(crate) retain: Option<Duration>,
}

/// What became of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// Recorded; the commit makes it last.
    Done,
    /// The transaction is not the one that was opened: the body ended it.
    Escaped,
    /// The key is not ours any more.
    Lost,
    /// The server takes no more than so many bytes of a result.
    TooLarge(usize),
}

/// What has become of the transaction that a failed body was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is open, and can be undone.
    Open,
    /// The database has undone all of it (a deadlock), and nothing was done since.
    Undone,
    /// The body ended it: what it wrote may be committed or not.
    Escaped,
}

/// An attempt at a leased job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The fencing token: greater than that of every attempt before.
    pub(crate) fence: i64,
    /// 1 for the first.
    pub(crate) number: i32,
}

/// The fence of a key's first attempt.
pub(crate) const FIRST: i64 = 1;

/// Who holds a leased key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub(crate) owner: [u8; 16],
    pub(crate) fence: i64,
}

/// A recovery point: a step of a leased job, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub(crate) name: String,
    pub(crate) result: Vec<u8>,
}
