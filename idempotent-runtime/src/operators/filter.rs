//! Which keys to list.

use std::time::Duration;

use super::key::KeyState;
use crate::dialect::millis;
use crate::dialect::operators::Wanted;

/// How many keys are listed, unless [`Filter::limit`] says otherwise.
pub const DEFAULT_LIMIT: u32 = 100;

/// Which keys [`Store::keys`](crate::Store::keys) lists: those that meet every condition, in the
/// order of the keys' bytes.
///
/// ```
/// use idempotent_runtime::operators::{Filter, KeyState};
/// use std::time::Duration;
///
/// let stuck = Filter::new()
///     .state(KeyState::Lapsed)
///     .state(KeyState::InDoubt)
///     .job("charge_payment")
///     .older_than(Duration::from_secs(3600));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    states: i64,
    job: Option<String>,
    prefix: String,
    /// Above every key with the prefix: keys are printable ASCII.
    before: String,
    after: String,
    older_than: Duration,
    newer_than: Duration,
    limit: u32,
}

/// The character after the last one that a key can have.
const ABOVE_ALL: char = '\u{7f}';

impl Filter {
    /// Every key, up to [`DEFAULT_LIMIT`] of them.
    #[must_use]
    pub fn new() -> Self {
        Self {
            states: 0,
            job: None,
            prefix: String::new(),
            before: ABOVE_ALL.to_string(),
            after: String::new(),
            older_than: Duration::ZERO,
            newer_than: Duration::MAX,
            limit: DEFAULT_LIMIT,
        }
    }

    /// Keys in this state; called again, in any of the states.
    #[must_use]
    pub fn state(mut self, state: KeyState) -> Self {
        self.states |= 1 << state.number();
        self
    }

    /// Keys of the job of this recorded name.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Keys that begin so, as they are encoded.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self.before = format!("{}{ABOVE_ALL}", self.prefix);
        self
    }

    /// Keys whose first attempt began at least so long ago, by the database's clock.
    #[must_use]
    pub fn older_than(mut self, age: Duration) -> Self {
        self.older_than = age;
        self
    }

    /// Keys whose first attempt began at most so long ago, by the database's clock.
    #[must_use]
    pub fn newer_than(mut self, age: Duration) -> Self {
        self.newer_than = age;
        self
    }

    /// Keys that come after this one: the last of a page, to read the next.
    #[must_use]
    pub fn after(mut self, key: impl Into<String>) -> Self {
        self.after = key.into();
        self
    }

    /// At most so many keys: [`DEFAULT_LIMIT`] by default.
    #[must_use]
    pub fn limit(mut self, keys: u32) -> Self {
        self.limit = keys;
        self
    }

    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            states: match self.states {
                0 => i64::from(u8::MAX),
                some => some,
            },
            job: self.job.as_deref(),
            from: &self.prefix,
            before: &self.before,
            after: &self.after,
            // A clock that was set back makes a key younger than nothing.
            at_least_old: match self.older_than {
                Duration::ZERO => i64::MIN / 4,
                age => millis(age),
            },
            at_most_old: millis(self.newer_than),
            limit: i64::from(self.limit),
        }
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self::new()
    }
}
