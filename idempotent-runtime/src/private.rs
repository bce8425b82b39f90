//! What expansions of the attribute call. Not for use by hand, and free to change in any release:
//! the macro crate is locked to this one.

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "a private interface"
)]

use crate::contract::Codec;
use crate::dialect::LedgerConnection;
use crate::error::Error;
use crate::job::JobBackend;
use crate::ledger::{leased as leased_ledger, transactional as transactional_ledger};
use crate::observe;
use crate::outcome::{JobResult, Outcome};
use crate::store::Store;
use crate::within::{IntoStore, Within};

pub use crate::answer::Verdict;
pub use crate::chain::{Chain, ChainOfAsRef, ChainOfError, NoChain};
pub use crate::end::{End, NoRun, Run, end};
pub use crate::input::Inputs;
pub use crate::key::KeyBuilder;
pub use crate::ledger::leased::{LeasedClaim, LeasedRun};
pub use crate::ledger::transactional::TransactionalRun;
pub use crate::site::Site;

use crate::ledger::call::Call;

/// The proof that a job's value can be stored, and its error can carry ours. The bounds are checked
/// where its parts are made, at the user's own types; what follows has none.
pub struct Contract<T, E> {
    site: &'static Site,
    codec: Codec<T>,
    convert: fn(Error) -> E,
}

impl<T, E> Contract<T, E> {
    pub const fn new(site: &'static Site, codec: Codec<T>, convert: fn(Error) -> E) -> Self {
        Self {
            site,
            codec,
            convert,
        }
    }

    pub fn error(&self, error: Error) -> E {
        (self.convert)(error)
    }

    /// What there is in the place of a run.
    pub fn without_run<S>(&self, instead: NoRun) -> Result<Outcome<T, S>, E> {
        let stored = match instead {
            NoRun::Stored(stored) => stored,
            NoRun::Refused(error) => return Err(self.error(error)),
        };
        match (self.codec.decode)(&stored.bytes) {
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
        (self.codec.round_trip)(&value).map_err(|problem| Error::Encode {
            what: format!("the result of job `{}`", self.site.name),
            problem,
        })
    }
}

/// `T` and `E` of a return type under another name, such as `anyhow::Result<T>`.
pub type ValueOf<R> = <R as JobResult>::Value;
pub type ErrorOf<R> = <R as JobResult>::Error;

/// A call that could be told from others, or the note that it was refused.
fn called(site: &'static Site, call: Result<Call, Error>) -> Result<Call, NoRun> {
    call.inspect_err(|error| observe::not_called(site, error))
        .map_err(NoRun::Refused)
}

/// The connection that a leased job's guard reads through.
pub type ConnectionOf<J> = <<J as JobBackend>::Backend as sqlx::Database>::Connection;

/// Claims the key of a transactional job.
pub async fn transactional<'a, C, W>(
    site: &'static Site,
    within: W,
    key: KeyBuilder,
    inputs: Inputs,
) -> Result<TransactionalRun<'a, C::Backend>, NoRun>
where
    C: LedgerConnection,
    W: Within<'a, C>,
{
    let place = within.place();
    let call = called(site, Call::new(site, key, inputs, place.options()))?;
    let watched = call.span.clone();
    let begun = Box::pin(transactional_ledger::begin(call, place)).await;
    NoRun::or_run(begun.inspect_err(|error| observe::refused(&watched, error)))
}

/// Claims the key of a leased job.
pub async fn leased<J, W>(
    site: &'static Site,
    store: W,
    key: KeyBuilder,
    inputs: Inputs,
) -> Result<LeasedClaim<J::Backend>, NoRun>
where
    J: JobBackend,
    W: IntoStore<J>,
{
    let store = store.into_store();
    let call = called(site, Call::new(site, key, inputs, store.options()))?;
    let watched = call.span.clone();
    let begun = Box::pin(leased_ledger::begin(call, store)).await;
    NoRun::or_run(begun.inspect_err(|error| observe::refused(&watched, error)))
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
