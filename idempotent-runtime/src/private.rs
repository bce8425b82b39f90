//! What expansions of the attribute call. Not for use by hand, and free to change in any release:
//! the macro crate is locked to this one.

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "a private interface"
)]

use std::error::Error as StdError;

use serde::{Serialize, de::DeserializeOwned};

use crate::codec;
use crate::dialect::LedgerConnection;
use crate::error::Error;
use crate::job::JobBackend;
use crate::ledger::{leased as leased_ledger, transactional as transactional_ledger};
use crate::observe;
use crate::outcome::{JobResult, Outcome, Skip};
use crate::store::Store;
use crate::within::{IntoStore, Within};

pub use crate::input::Inputs;
pub use crate::key::KeyBuilder;
pub use crate::ledger::call::{Begun, Ended, Stored as StoredResult};
pub use crate::ledger::leased::{LeasedClaim, LeasedRun};
pub use crate::ledger::transactional::TransactionalRun;
pub use crate::site::Site;

use crate::ledger::call::Call;

/// A job's value: stored, and decoded again for every retry.
#[diagnostic::on_unimplemented(
    message = "the result `{Self}` cannot be stored for retries",
    label = "a job's value must be `Serialize` and `Deserialize`, and own what it holds",
    note = "the result is stored, and a retry gets it back: derive `serde::Serialize` and `serde::Deserialize` for it, and return owned values (`String`, not `&str`)"
)]
pub trait Stored: sealed::Stored + Sized {
    #[doc(hidden)]
    fn round_trip(&self) -> Result<(Self, Vec<u8>), String>;
    #[doc(hidden)]
    fn decode(bytes: &[u8]) -> Result<Self, (String, String)>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Stored for T {
    fn round_trip(&self) -> Result<(Self, Vec<u8>), String> {
        codec::round_trip(self)
    }

    fn decode(bytes: &[u8]) -> Result<Self, (String, String)> {
        codec::decode(bytes).map_err(|problem| (problem.path, problem.what))
    }
}

/// A job's error: this crate's own errors become one.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` cannot carry what the runtime reports",
    label = "no `From<idempotent_runtime::Error>`",
    note = "add a variant to it, with thiserror: `#[error(transparent)] Idempotent(#[from] idempotent_runtime::Error)`",
    note = "where the error is not yours (`sqlx::Error`, say), wrap it in an enum of yours, or use `anyhow::Error`"
)]
pub trait FromRuntime: sealed::FromRuntime {
    #[doc(hidden)]
    fn from_runtime(error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> FromRuntime for E {
    fn from_runtime(error: Error) -> Self {
        error.into()
    }
}

/// What a guard may answer: `bool`, or `Option<bool>` where the record may be missing.
#[diagnostic::on_unimplemented(
    message = "a guard cannot answer `{Self}`",
    label = "expected `bool` or `Option<bool>`",
    note = "a guard returns `Result<bool, _>` (`true`: already done), or `Result<Option<bool>, _>` where the record may be missing (`None`)"
)]
pub trait Answer: sealed::Answer {
    #[doc(hidden)]
    fn verdict(self) -> Verdict;
}

impl Answer for bool {
    fn verdict(self) -> Verdict {
        if self { Verdict::Done } else { Verdict::NotYet }
    }
}

impl Answer for Option<bool> {
    fn verdict(self) -> Verdict {
        self.map_or(Verdict::Missing, Answer::verdict)
    }
}

/// What a guard returns.
#[diagnostic::on_unimplemented(
    message = "a guard returns `Result<bool, _>`, not `{Self}`",
    label = "not a `Result`",
    note = "a guard reads the database, which can fail: return `Result<bool, _>` (`true`: already done), or `Result<Option<bool>, _>` where the record may be missing (`None`)"
)]
pub trait GuardResult: sealed::GuardResult {
    type Answer;
    type Error;
    #[doc(hidden)]
    fn into_result(self) -> Result<Self::Answer, Self::Error>;
}

impl<A, E> GuardResult for Result<A, E> {
    type Answer = A;
    type Error = E;

    fn into_result(self) -> Result<A, E> {
        self
    }
}

mod sealed {
    use super::{DeserializeOwned, Error, Serialize};

    pub trait Stored {}
    #[diagnostic::do_not_recommend]
    impl<T: Serialize + DeserializeOwned> Stored for T {}

    pub trait FromRuntime {}
    #[diagnostic::do_not_recommend]
    impl<E: From<Error>> FromRuntime for E {}

    pub trait Answer {}
    impl Answer for bool {}
    impl Answer for Option<bool> {}

    pub trait GuardResult {}
    impl<A, E> GuardResult for Result<A, E> {}
}

/// What a guard's answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Done,
    NotYet,
    Missing,
}

/// Reads a guard's answer.
pub fn verdict<R: GuardResult<Answer: Answer>>(result: R) -> Result<Verdict, R::Error> {
    result.into_result().map(Answer::verdict)
}

/// Reads a `skip_if`'s answer.
pub fn condition<R: GuardResult<Answer: Answer>>(result: R) -> Result<Verdict, R::Error> {
    verdict(result)
}

/// Reads the answer of a guard that cannot say that the record is missing.
pub fn certain<E>(result: Result<bool, E>) -> Result<Verdict, E> {
    verdict(result)
}

type RoundTrip<T> = fn(&T) -> Result<(T, Vec<u8>), String>;
type Decode<T> = fn(&[u8]) -> Result<T, (String, String)>;

/// The proof that a job's value can be stored, and its error can carry ours. The bounds are checked
/// where it is made, at the user's own types; what follows has none.
pub struct Contract<T, E> {
    site: &'static Site,
    round_trip: RoundTrip<T>,
    decode: Decode<T>,
    convert: fn(Error) -> E,
}

impl<T, E> Contract<T, E> {
    pub const fn new(site: &'static Site) -> Self
    where
        T: Stored,
        E: FromRuntime,
    {
        Self {
            site,
            round_trip: T::round_trip,
            decode: T::decode,
            convert: E::from_runtime,
        }
    }

    pub fn error(&self, error: Error) -> E {
        (self.convert)(error)
    }

    pub fn replay<S>(&self, stored: StoredResult) -> Result<Outcome<T, S>, E> {
        match (self.decode)(&stored.bytes) {
            Ok(value) => Ok(Outcome::Replayed(value)),
            Err((path, problem)) => Err(self.error(Error::Decode {
                key: stored.key,
                job: stored.job.to_owned(),
                path,
                problem,
            })),
        }
    }

    /// The value as retries will get it, and its stored form.
    pub fn settle(&self, value: T) -> Result<(T, Vec<u8>), Error> {
        (self.round_trip)(&value).map_err(|problem| Error::Encode {
            what: format!("the result of job `{}`", self.site.name),
            problem,
        })
    }

    pub fn performed<S>(&self, done: Result<(), Error>, value: T) -> Result<Outcome<T, S>, E> {
        match done {
            Ok(()) => Ok(Outcome::Performed(value)),
            Err(error) => Err(self.error(error)),
        }
    }

    pub fn replayed<S>(&self, done: Result<(), Error>, value: T) -> Result<Outcome<T, S>, E> {
        match done {
            Ok(()) => Ok(Outcome::Replayed(value)),
            Err(error) => Err(self.error(error)),
        }
    }

    pub fn skipped(&self, ended: Result<Ended, Error>, why: Skip) -> Result<Outcome<T>, E> {
        match ended {
            Ok(Ended(span)) => {
                observe::skipped(&span, &why);
                Ok(Outcome::Skipped(why))
            }
            Err(error) => Err(self.error(error)),
        }
    }

    pub fn existing<S>(&self, ended: Result<Ended, Error>, value: T) -> Result<Outcome<T, S>, E> {
        match ended {
            Ok(Ended(span)) => {
                observe::replayed(&span);
                Ok(Outcome::Replayed(value))
            }
            Err(error) => Err(self.error(error)),
        }
    }
}

/// The same for a return type under another name, such as `anyhow::Result<T>`.
pub const fn contract_of<R: JobResult>(site: &'static Site) -> Contract<R::Value, R::Error>
where
    R::Value: Stored,
    R::Error: FromRuntime,
{
    Contract::new(site)
}

/// Claims the key of a transactional job.
pub async fn transactional<'a, C, W>(
    site: &'static Site,
    within: W,
    key: KeyBuilder,
    inputs: Inputs,
) -> Result<Begun<TransactionalRun<'a, C::Backend>>, Error>
where
    C: LedgerConnection,
    W: Within<'a, C>,
{
    let place = within.place();
    let call = Call::new(site, key, inputs, place.options())?;
    transactional_ledger::begin(call, place).await
}

/// Claims the key of a leased job.
pub async fn leased<J, W>(
    site: &'static Site,
    store: W,
    key: KeyBuilder,
    inputs: Inputs,
) -> Result<Begun<LeasedClaim<J::Backend>>, Error>
where
    J: JobBackend,
    W: IntoStore<J>,
{
    let store = store.into_store();
    let call = Call::new(site, key, inputs, store.options())?;
    leased_ledger::begin(call, store).await
}

/// `store = …` of a transactional job.
pub fn store_for_connection<C, S>(store: &S) -> Store<C::Backend>
where
    C: LedgerConnection,
    S: AsRef<Store<C::Backend>> + ?Sized,
{
    store.as_ref().clone()
}

/// `store = …` of a leased job.
pub fn store_for_job<J, S>(store: &S) -> Store<J::Backend>
where
    J: JobBackend,
    S: AsRef<Store<J::Backend>> + ?Sized,
{
    store.as_ref().clone()
}

/// The chain of a job's error, whether it is an `Error` itself, or derefs to one (`anyhow`).
pub struct Chain<'a, E>(pub &'a E);

pub trait ChainOfError<'a> {
    fn links(self) -> Option<&'a (dyn StdError + 'static)>;
}

impl<'a, E: StdError + 'static> ChainOfError<'a> for &&Chain<'a, E> {
    fn links(self) -> Option<&'a (dyn StdError + 'static)> {
        Some(self.0)
    }
}

pub trait ChainOfAsRef<'a> {
    fn links(self) -> Option<&'a (dyn StdError + 'static)>;
}

impl<'a, E> ChainOfAsRef<'a> for &Chain<'a, E>
where
    E: AsRef<dyn StdError + Send + Sync + 'static>,
{
    fn links(self) -> Option<&'a (dyn StdError + 'static)> {
        Some(self.0.as_ref())
    }
}
