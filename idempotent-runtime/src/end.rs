//! How a run ends. The expansion finds out what it ends with; it is ended here, in one place: each
//! place more would be an `.await` more in every job, for the compiler to look into.

use std::convert::Infallible;
use std::future::Future;

use crate::__private::Contract;
use crate::answer::Verdict;
use crate::dialect::Backend;
use crate::error::Error;
use crate::ledger::call::{Begun, Ended, Stored};
use crate::ledger::leased::LeasedRun;
use crate::ledger::transactional::TransactionalRun;
use crate::observe;
use crate::outcome::{Outcome, Skip, SkipReason};

/// What a run ends with.
///
/// `S` is why it may be skipped; `K` is [`Infallible`] unless there is a value to load for work that
/// was done before.
#[derive(Debug)]
pub enum End<T, E, S, K = Infallible> {
    /// The body gave this.
    Done(T),
    /// A leftover attempt had given this already, as its look-up says.
    Found(T),
    /// The work was done before, outside any run: this is what there is of it.
    Existing(T),
    /// The same, and the value is yet to be loaded.
    Known(K),
    /// There is nothing to do.
    Skip(S),
    /// The body, or a function that was asked, failed.
    Fail(E),
    /// The runtime could not go on.
    Refused(Error),
    /// The guard says that the body did not leave its mark.
    Unmet,
}

impl<T, E, S> End<T, E, S, ()> {
    /// `Err` where the value is to be loaded.
    #[allow(clippy::result_unit_err, reason = "a private interface")]
    pub fn known(self) -> Result<End<T, E, S>, ()> {
        Ok(match self {
            Self::Known(()) => return Err(()),
            Self::Done(value) => End::Done(value),
            Self::Found(value) => End::Found(value),
            Self::Existing(value) => End::Existing(value),
            Self::Skip(why) => End::Skip(why),
            Self::Fail(error) => End::Fail(error),
            Self::Refused(error) => End::Refused(error),
            Self::Unmet => End::Unmet,
        })
    }

    /// What `existing` has loaded.
    pub fn existing<X>(loaded: Result<T, X>, convert: fn(X) -> E) -> End<T, E, S> {
        match loaded {
            Ok(value) => End::Existing(value),
            Err(error) => End::Fail(convert(error)),
        }
    }
}

/// What an answer ends the run with, if it does: each of these reads that of one place.
impl<T, E, S, K> End<T, E, S, K> {
    /// Of a step of the runtime.
    pub fn refused(step: Result<(), Error>) -> Option<Self> {
        step.err().map(Self::Refused)
    }

    /// Of the body.
    pub fn ran(ran: Result<Result<T, E>, Error>) -> Result<T, Self> {
        match ran {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Self::Fail(error)),
            Err(error) => Err(Self::Refused(error)),
        }
    }

    /// Of a look-up.
    pub fn found<X>(found: Result<Option<T>, X>, convert: fn(X) -> E) -> Option<Self> {
        match found {
            Ok(found) => found.map(Self::Found),
            Err(error) => Some(Self::Fail(convert(error))),
        }
    }

    /// Of the guard, after the body.
    pub fn guard_again<X>(answer: Result<Verdict, X>, convert: fn(X) -> E) -> Option<Self> {
        match answer {
            Ok(Verdict::NotYet) => Some(Self::Unmet),
            Ok(Verdict::Done | Verdict::Missing) => None,
            Err(error) => Some(Self::Fail(convert(error))),
        }
    }
}

impl<T, E, K> End<T, E, Skip, K> {
    /// Of a condition.
    pub fn condition<X>(answer: Result<Verdict, X>, convert: fn(X) -> E) -> Option<Self> {
        match answer {
            Ok(Verdict::NotYet) => None,
            Ok(Verdict::Done | Verdict::Missing) => Some(Self::Skip(Skip::Condition)),
            Err(error) => Some(Self::Fail(convert(error))),
        }
    }

    /// Of the guard, before the body.
    pub fn guard<X>(answer: Result<Verdict, X>, convert: fn(X) -> E) -> Option<Self> {
        match answer {
            Ok(Verdict::NotYet) => None,
            Ok(Verdict::Done) => Some(Self::Skip(Skip::Guard)),
            Ok(Verdict::Missing) => Some(Self::Skip(Skip::Missing)),
            Err(error) => Some(Self::Fail(convert(error))),
        }
    }

    /// Of the attribute's constraint.
    pub fn constraint(said: Result<Option<Skip>, Error>) -> Option<Self> {
        match said {
            Ok(said) => said.map(Self::Skip),
            Err(error) => Some(Self::Refused(error)),
        }
    }
}

impl<T, E, S> End<T, E, S, ()> {
    /// Of the guard, before the body, where its record cannot be missing and there is `existing`.
    pub fn known_by_guard<X>(answer: Result<Verdict, X>, convert: fn(X) -> E) -> Option<Self> {
        match answer {
            Ok(Verdict::NotYet) => None,
            Ok(Verdict::Done | Verdict::Missing) => Some(Self::Known(())),
            Err(error) => Some(Self::Fail(convert(error))),
        }
    }

    /// Of the attribute's constraint, where there is `existing`.
    pub fn known_by_constraint(said: Result<Option<Skip>, Error>) -> Option<Self> {
        match said {
            Ok(said) => said.map(|_| Self::Known(())),
            Err(error) => Some(Self::Refused(error)),
        }
    }
}

impl<T, E> End<T, E, Skip, ()> {
    /// Of the guard, before the body, where its record may be missing and there is `existing`.
    pub fn known_or_missing<X>(answer: Result<Verdict, X>, convert: fn(X) -> E) -> Option<Self> {
        match answer {
            Ok(Verdict::Missing) => Some(Self::Skip(Skip::Missing)),
            answer => Self::known_by_guard(answer, convert),
        }
    }
}

/// Why a call is no run.
#[derive(Debug)]
pub enum NoRun {
    /// An earlier call completed the key.
    Stored(Stored),
    /// The call did not get the key.
    Refused(Error),
}

impl NoRun {
    pub(crate) fn or_run<R>(begun: Result<Begun<R>, Error>) -> Result<R, Self> {
        match begun {
            Ok(Begun::Run(run)) => Ok(run),
            Ok(Begun::Stored(stored)) => Err(Self::Stored(stored)),
            Err(error) => Err(Self::Refused(error)),
        }
    }
}

/// A run, of either kind.
pub trait Run: Sized {
    /// Makes ready for the completion.
    fn ready(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
    /// Records the result, and commits it.
    fn complete(self, stored: Vec<u8>) -> impl Future<Output = Result<(), Error>> + Send;
    /// Leaves no key behind.
    fn skip(self) -> impl Future<Output = Result<Ended, Error>> + Send;
    /// Undoes everything.
    fn fail(self) -> impl Future<Output = ()> + Send;
    /// The error for a body that left no mark.
    fn unmet(&self) -> Error;
}

impl<DB: Backend> Run for TransactionalRun<'_, DB> {
    async fn ready(&mut self) -> Result<(), Error> {
        Ok(())
    }

    async fn complete(self, stored: Vec<u8>) -> Result<(), Error> {
        Self::complete(self, stored).await
    }

    async fn skip(self) -> Result<Ended, Error> {
        Self::skip(self).await
    }

    async fn fail(self) {
        Self::fail(self, ()).await;
    }

    fn unmet(&self) -> Error {
        Self::unmet(self)
    }
}

impl<DB: Backend> Run for LeasedRun<'_, DB> {
    async fn ready(&mut self) -> Result<(), Error> {
        self.after().await
    }

    async fn complete(self, stored: Vec<u8>) -> Result<(), Error> {
        Self::complete(self, stored).await
    }

    async fn skip(self) -> Result<Ended, Error> {
        Self::skip(self).await
    }

    async fn fail(self) {
        Self::fail(self, ()).await;
    }

    fn unmet(&self) -> Error {
        Self::unmet(self)
    }
}

/// Ends the run, and says what came of the call.
pub async fn end<R: Run, T, E, S: SkipReason>(
    run: R,
    contract: Contract<T, E>,
    end: End<T, E, S>,
) -> Result<Outcome<T, S>, E> {
    match end {
        End::Done(value) => complete(run, &contract, value)
            .await
            .map(Outcome::Performed),
        End::Found(value) => complete(run, &contract, value).await.map(Outcome::Replayed),
        End::Existing(value) => {
            let Ended(span) = run.skip().await.map_err(|error| contract.error(error))?;
            observe::replayed(&span);
            Ok(Outcome::Replayed(value))
        }
        End::Known(never) => match never {},
        End::Skip(why) => {
            let Ended(span) = run.skip().await.map_err(|error| contract.error(error))?;
            observe::skipped(&span, why.reason());
            Ok(Outcome::Skipped(why))
        }
        End::Fail(error) => {
            run.fail().await;
            Err(error)
        }
        End::Refused(error) => Err(refuse(run, &contract, error).await),
        End::Unmet => {
            let error = run.unmet();
            Err(refuse(run, &contract, error).await)
        }
    }
}

/// Records the value, and gives it back as retries will get it.
async fn complete<R: Run, T, E>(mut run: R, contract: &Contract<T, E>, value: T) -> Result<T, E> {
    let (value, stored) = match contract.settle(value) {
        Ok(settled) => settled,
        Err(error) => return Err(refuse(run, contract, error).await),
    };
    if let Err(error) = run.ready().await {
        return Err(refuse(run, contract, error).await);
    }
    match run.complete(stored).await {
        Ok(()) => Ok(value),
        Err(error) => Err(contract.error(error)),
    }
}

async fn refuse<R: Run, T, E>(run: R, contract: &Contract<T, E>, error: Error) -> E {
    let error = contract.error(error);
    run.fail().await;
    error
}
