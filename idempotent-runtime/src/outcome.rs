//! What a call gave: performed now, replayed, or skipped.

mod wire;

use std::convert::Infallible;

/// The skip reason of a job that cannot skip: no value of it exists.
pub type Never = Infallible;

/// What an annotated function returns in place of its own `Result<T, E>`.
///
/// `Idempotent<Result<Receipt, ShopError>>` is `Result<Outcome<Receipt>, ShopError>`; it works on
/// aliases such as `anyhow::Result<Receipt>` too.
pub type Idempotent<R, S = Skip> = <R as JobResult>::Output<S>;

/// What a job's function may return: a `Result`, under whatever name.
#[diagnostic::on_unimplemented(
    message = "a job returns `Result<T, E>`, not `{Self}`",
    label = "not a `Result`",
    note = "the result is stored for retries, and an error releases the key: write `-> Result<T, E>`"
)]
pub trait JobResult {
    /// What the job gives: stored, and replayed to retries.
    type Value;
    /// How it fails.
    type Error;
    /// The same `Result` with an [`Outcome`] in the place of the value.
    type Output<S>;

    #[doc(hidden)]
    fn into_result(self) -> Result<Self::Value, Self::Error>
    where
        Self: Sized;
}

#[diagnostic::do_not_recommend]
impl<T, E> JobResult for Result<T, E> {
    type Value = T;
    type Error = E;
    type Output<S> = Result<Outcome<T, S>, E>;

    fn into_result(self) -> Self {
        self
    }
}

/// What a call of an idempotent job gave.
///
/// A job with no `guard`, `skip_if` or `unique` cannot skip: its `S` is [`Never`], and patterns
/// over the other two are irrefutable.
///
/// ```
/// use idempotent_runtime::{Never, Outcome};
///
/// let outcome: Outcome<u32, Never> = Outcome::Performed(7);
/// let (Outcome::Performed(x) | Outcome::Replayed(x)) = outcome;
/// assert_eq!(x, 7);
/// ```
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome<T, S = Skip> {
    /// This call ran the body.
    ///
    /// The value is the one decoded back from its stored form, so that the first answer equals
    /// every replay.
    Performed(T),
    /// An earlier call ran it; this is its stored result.
    Replayed(T),
    /// There was nothing to do.
    Skipped(S),
}

impl<T, S> Outcome<T, S> {
    /// The job's value, unless it was skipped.
    ///
    /// ```
    /// # use idempotent_runtime::{Outcome, Skip};
    /// assert_eq!(Outcome::<_>::Replayed("r_1").value(), Some("r_1"));
    /// assert_eq!(Outcome::<&str>::Skipped(Skip::Guard).value(), None);
    /// ```
    pub fn value(self) -> Option<T> {
        match self {
            Self::Performed(value) | Self::Replayed(value) => Some(value),
            Self::Skipped(_) => None,
        }
    }

    /// The outcome with another value.
    ///
    /// ```
    /// # use idempotent_runtime::Outcome;
    /// assert_eq!(Outcome::<_>::Performed(2).map(|n| n + 1), Outcome::Performed(3));
    /// ```
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Outcome<U, S> {
        match self {
            Self::Performed(value) => Outcome::Performed(f(value)),
            Self::Replayed(value) => Outcome::Replayed(f(value)),
            Self::Skipped(why) => Outcome::Skipped(why),
        }
    }

    /// Whether this call ran the body.
    pub const fn is_performed(&self) -> bool {
        matches!(self, Self::Performed(_))
    }

    /// Whether the value is an earlier call's.
    pub const fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }

    /// Whether there was nothing to do.
    pub const fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped(_))
    }
}

impl<T> Outcome<T, Never> {
    /// The job's value; total, for this job cannot skip.
    ///
    /// ```
    /// # use idempotent_runtime::{Never, Outcome};
    /// assert_eq!(Outcome::<u32, Never>::Replayed(7).into_value(), 7);
    /// ```
    pub fn into_value(self) -> T {
        let (Self::Performed(value) | Self::Replayed(value)) = self;
        value
    }
}

/// Why there was nothing to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Skip {
    /// The guard said that the work is done.
    Guard,
    /// The guard said that the record does not exist (it may appear later).
    Missing,
    /// `skip_if` said that the work is not wanted.
    Condition,
    /// The unique constraint of the attribute says that the work is done.
    Unique {
        /// The constraint, as the database names it.
        constraint: String,
    },
}

impl Skip {
    /// The reason in one word, as logs and serialized outcomes have it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Missing => "missing",
            Self::Condition => "condition",
            Self::Unique { .. } => "unique",
        }
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A skip reason, or the proof that there is none.
pub trait SkipReason: sealed::Sealed {
    /// The reason.
    fn reason(&self) -> &Skip;
}

impl SkipReason for Skip {
    fn reason(&self) -> &Skip {
        self
    }
}

impl SkipReason for Never {
    fn reason(&self) -> &Skip {
        match *self {}
    }
}

mod sealed {
    use super::{Never, Skip};

    pub trait Sealed: Sized {
        /// The reason as this type has it; `None` where it has none.
        fn from_skip(skip: Skip) -> Option<Self>;
    }

    impl Sealed for Skip {
        fn from_skip(skip: Skip) -> Option<Self> {
            Some(skip)
        }
    }

    impl Sealed for Never {
        fn from_skip(_: Skip) -> Option<Self> {
            None
        }
    }
}
