//! What can go wrong, and what to do next.

mod shown;

use std::fmt;
use std::time::Duration;

pub use shown::ShownKey;

/// The result of this crate's own operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a job was not run, or not completed.
///
/// A job's error type converts from it (`From<idempotent_runtime::Error>`). Each message says what
/// to do next; [`is_retryable`](Self::is_retryable) says whether running the same call again can
/// help. No variant carries an input or a result: keys and names only.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another attempt holds the key, and `wait` has passed.
    #[error("key `{key}` is being worked on by another attempt; try again in {retry_after:?}")]
    Busy {
        /// The key.
        key: ShownKey,
        /// When the holder's lease ends unless it is renewed; a hint.
        retry_after: Duration,
    },

    /// The key is known, with other inputs.
    #[error(
        "key `{key}` of job `{job}` was first used with other inputs: {} changed; use another key, \
         or `ignore(…)` what may differ between attempts",
        Names(names)
    )]
    InputMismatch {
        /// The key.
        key: ShownKey,
        /// The job.
        job: String,
        /// The inputs that differ, by name.
        names: Vec<String>,
    },

    /// The key belongs to another job.
    #[error(
        "key `{key}` belongs to job `{holder}`, not to `{job}`; give each job keys of its own, or, \
         if `{holder}` was renamed, keep its recorded name with `name = \"{holder}\"`"
    )]
    KeyTaken {
        /// The key.
        key: ShownKey,
        /// The job that was called.
        job: String,
        /// The job that the key belongs to.
        holder: String,
    },

    /// Two functions of this program have one recorded name.
    #[error(
        "two jobs are named `{name}`: {first} and {second}; give one of them another name with \
         `name = \"…\"`"
    )]
    NameTwice {
        /// The recorded name.
        name: String,
        /// Where the first one stands: module, file and line.
        first: String,
        /// Where the second one stands.
        second: String,
    },

    /// The job would wait for itself.
    #[error("job `{job}` with key `{key}` would wait for its own caller: {advice}")]
    Nested {
        /// The key that was asked for.
        key: ShownKey,
        /// The job that was called.
        job: String,
        /// What to do instead.
        advice: &'static str,
    },

    /// The body succeeded, and the guard still says that the work is not done.
    #[error(
        "job `{job}` with key `{key}` succeeded, but its guard `{guard}` still says `false`: the job \
         does not leave the mark that its guard reads; nothing was committed"
    )]
    GuardUnmet {
        /// The key.
        key: ShownKey,
        /// The job.
        job: String,
        /// The guard, as written in the attribute.
        guard: &'static str,
    },

    /// Another attempt has taken the key over; this one's writes are undone.
    #[error(
        "the lease of key `{key}` was lost to another attempt; this attempt's writes were undone, \
         and calling again gives the other's result"
    )]
    LeaseLost {
        /// The key.
        key: ShownKey,
    },

    /// An unfinished attempt is older than the outside world's memory of its key.
    #[error(
        "an unfinished attempt of key `{key}` is {age:?} old, and the outside world may have \
         forgotten the key after {window:?}: find out whether it took effect, then \
         `store.resolve(…)` it, or give the job `reconcile = …`"
    )]
    KeyWindowPassed {
        /// The key.
        key: ShownKey,
        /// How long ago the first attempt began.
        age: Duration,
        /// The job's `key_window`.
        window: Duration,
    },

    /// Only a person can tell whether the key's work was done.
    #[error(
        "key `{key}` is in doubt ({why}): find out whether its work was done, then call \
         `store.resolve(…)` with `Complete`, `Forget` or `RunAgain`"
    )]
    InDoubt {
        /// The key.
        key: ShownKey,
        /// What left it in doubt.
        why: String,
    },

    /// A part of the key is empty: two different calls could share the key.
    #[error("the key of job `{job}` has an empty part `{part}`; nothing was run")]
    EmptyKeyPart {
        /// The job.
        job: String,
        /// The placeholder.
        part: &'static str,
    },

    /// A result or an input cannot be stored without loss.
    #[error("{what} cannot be stored: {problem}; nothing was committed")]
    Encode {
        /// What was being stored: the result of a job, or an input by its name.
        what: String,
        /// What is wrong with it; no values.
        problem: String,
    },

    /// A stored result is not of the type that this version of the job returns.
    #[error(
        "the result of key `{key}` (job `{job}`) does not decode as the job's type{}: {problem}; \
         keep old results readable, with `#[serde(default)]` for a new field",
        At(path)
    )]
    Decode {
        /// The key.
        key: ShownKey,
        /// The job.
        job: String,
        /// The field, as a path into the result; empty for the whole.
        path: String,
        /// What failed; no values.
        problem: String,
    },

    /// The result is larger than the store allows.
    #[error(
        "the result of key `{key}` has {size} bytes, over the limit of {limit}: return a reference \
         to it, or raise the limit (`Store::result_limit`, and `max_allowed_packet` on MySQL and \
         MariaDB); nothing was committed"
    )]
    ResultTooLarge {
        /// The key.
        key: ShownKey,
        /// The encoded result, in bytes.
        size: usize,
        /// The store's limit, or the server's, in bytes.
        limit: usize,
    },

    /// The body ended the transaction that it was given.
    #[error(
        "the body of key `{key}` ended the transaction that it was given (a raw COMMIT or ROLLBACK, \
         or a statement that commits by itself); the connection was closed, and the key is in doubt: \
         see whether the work was done, then `store.resolve(…)` it"
    )]
    TransactionEscaped {
        /// The key.
        key: ShownKey,
    },

    /// The caller's transaction cannot see what it would have to; the caller begins again.
    #[error(
        "key `{key}` cannot be decided inside the caller's transaction, whose snapshot is too old: \
         roll it back, begin it again (`store.begin()` opens one with the right isolation), and retry"
    )]
    OuterMustRetry {
        /// The key.
        key: ShownKey,
        /// What the database said.
        #[source]
        source: Option<sqlx::Error>,
    },

    /// The caller's transaction is gone: what it wrote was rolled back, or committed half-way.
    #[error(
        "the caller's transaction ended while key `{key}` was worked on (a deadlock, or a raw COMMIT \
         or ROLLBACK in the body): stop using the connection, and start the outer transaction over"
    )]
    OuterLost {
        /// The key.
        key: ShownKey,
        /// What the database said.
        #[source]
        source: Option<sqlx::Error>,
    },

    /// A step after `job.tx()`: the completion transaction is open, only writes may follow.
    #[error(
        "step `{step}` of key `{key}` comes after `job.tx()`: do every step first, then take the \
         transaction, and after it only write"
    )]
    StepAfterTx {
        /// The key.
        key: ShownKey,
        /// The step.
        step: String,
    },

    /// The steps on record are not those of this run.
    #[error("step `{step}` of key `{key}`: {problem}")]
    StepMismatch {
        /// The key.
        key: ShownKey,
        /// The step.
        step: String,
        /// What is wrong, and what to do.
        problem: String,
    },

    /// The ledger's tables are not there.
    #[error(
        "the tables of idempotent-runtime are missing in this database: call `store.migrate()` once, \
         or run the SQL of `{constant}` in your own migrations"
    )]
    SchemaMissing {
        /// The constant that has the SQL.
        constant: &'static str,
    },

    /// The ledger's tables are of another version.
    #[error(
        "the tables of idempotent-runtime are of version {found}, and this program needs {needed}: \
         {}",
        if found < needed { "call `store.migrate()`" } else { "update this program" }
    )]
    SchemaVersion {
        /// The version in the database.
        found: i32,
        /// The version of this crate.
        needed: i32,
    },

    /// The database is set up in a way that the promises do not hold on.
    #[error("this database cannot hold the ledger: {problem}")]
    Unsupported {
        /// What is wrong, and how to set it up.
        problem: String,
    },

    /// A key that the store does not know, or that is not in a state to be resolved.
    #[error("key `{key}` cannot be resolved: {problem}")]
    NotResolvable {
        /// The key.
        key: ShownKey,
        /// Why.
        problem: &'static str,
    },

    /// The database failed, or refused.
    #[error("the database failed while {doing}{}", if *retryable { "; the call can be retried" } else { "" })]
    Database {
        /// What was being done.
        doing: &'static str,
        /// Whether the same call may succeed later.
        retryable: bool,
        /// What the database said.
        #[source]
        source: sqlx::Error,
    },
}

impl Error {
    /// Whether the same call, made again, can succeed without anybody changing anything.
    ///
    /// ```
    /// use idempotent_runtime::{Error, ShownKey};
    /// use std::time::Duration;
    ///
    /// let busy = Error::Busy { key: ShownKey::new("order_42"), retry_after: Duration::from_secs(3) };
    /// assert!(busy.is_retryable());
    /// ```
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::LeaseLost { .. } | Self::OuterMustRetry { .. } => true,
            Self::OuterLost { source, .. } => source.is_some(),
            Self::Database { retryable, .. } => *retryable,
            _ => false,
        }
    }

    /// The kind of error in one word (`busy`, `input_mismatch`), which no release changes: for
    /// metrics, and for callers over a network.
    ///
    /// ```
    /// use idempotent_runtime::{Error, ShownKey};
    ///
    /// let lost = Error::LeaseLost { key: ShownKey::new("order_42") };
    /// assert_eq!(lost.kind(), "lease_lost");
    /// ```
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "busy",
            Self::InputMismatch { .. } => "input_mismatch",
            Self::KeyTaken { .. } => "key_taken",
            Self::NameTwice { .. } => "name_twice",
            Self::Nested { .. } => "nested",
            Self::GuardUnmet { .. } => "guard_unmet",
            Self::LeaseLost { .. } => "lease_lost",
            Self::KeyWindowPassed { .. } => "key_window_passed",
            Self::InDoubt { .. } => "in_doubt",
            Self::EmptyKeyPart { .. } => "empty_key_part",
            Self::Encode { .. } => "encode",
            Self::Decode { .. } => "decode",
            Self::ResultTooLarge { .. } => "result_too_large",
            Self::TransactionEscaped { .. } => "transaction_escaped",
            Self::OuterMustRetry { .. } => "outer_must_retry",
            Self::OuterLost { .. } => "outer_lost",
            Self::StepAfterTx { .. } => "step_after_tx",
            Self::StepMismatch { .. } => "step_mismatch",
            Self::SchemaMissing { .. } => "schema_missing",
            Self::SchemaVersion { .. } => "schema_version",
            Self::Unsupported { .. } => "unsupported",
            Self::NotResolvable { .. } => "not_resolvable",
            Self::Database { .. } => "database",
        }
    }
}

/// "`a`, `b`": the names in a message.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}`{name}`")?;
        }
        Ok(())
    }
}

/// " at `a.b`", or nothing for the whole.
struct At<'a>(&'a str);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() || self.0 == "." {
            return Ok(());
        }
        write!(f, " at `{}`", self.0)
    }
}
