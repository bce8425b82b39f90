//! A key that a leased job holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use super::run::LeasedRun;
use crate::dialect::Backend;
use crate::error::Error;
use crate::gate::Pass;
use crate::held::Held;
use crate::job::Job;
use crate::ledger::call::Call;
use crate::ledger::doubt;
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::record::{Attempt, Holder};
use crate::ledger::release::Release;
use crate::observe;
use crate::retry::alone;
use crate::store::Store;

/// A claimed key of a leased job. Dropped unfinished, it lets the next attempt take over.
#[derive(Debug)]
pub struct LeasedClaim<DB: Backend> {
    pub(crate) call: Call,
    pub(crate) store: Store<DB>,
    pub(crate) holder: Holder,
    pub(super) attempt: Attempt,
    pub(super) held: Held,
    /// Set while a write transaction of the job's is open.
    pub(super) writes: Arc<AtomicBool>,
    /// Whether the key needs no release any more.
    pub(super) ended: AtomicBool,
    pub(super) claimed_at: Instant,
    pub(super) _pass: Pass,
}

impl<DB: Backend> LeasedClaim<DB> {
    /// The job that the body gets.
    pub fn open(&mut self) -> LeasedRun<'_, DB> {
        let claim: &Self = self;
        LeasedRun {
            claim,
            job: Job::new(claim),
            reader: None,
        }
    }

    /// Makes the lease as long again as it is to be.
    pub(super) async fn renew(&mut self) -> Result<(), Error> {
        let sent = Instant::now();
        let (mut tx, _writer) = self.store.write_connection(sent).await?;
        let renewed = alone!(
            DB,
            self.call.lock_deadline(),
            tx,
            point!(
                "leased::begin",
                "renew",
                DB::renew(
                    tx.on(),
                    self.call.key.as_str(),
                    &self.holder,
                    self.call.site.lease
                )
            )
        )
        .map_err(|error| error.into_failed::<DB>("renewing a lease"))?;
        if !renewed {
            self.end();
            return Err(Error::LeaseLost {
                key: self.call.shown(),
            });
        }
        self.claimed_at = sent;
        Ok(())
    }

    /// Whether an attempt before this one did not finish.
    pub(crate) fn is_leftover(&self) -> bool {
        self.attempt.number > 1
    }

    /// Notes that a write transaction of the job's is open, until it is dropped.
    pub(crate) fn writing(&self) -> Writing {
        self.writes.store(true, Ordering::Relaxed);
        Writing(Arc::clone(&self.writes))
    }

    /// The body ended a transaction of ours by raw SQL: what it wrote may be committed or not.
    pub(crate) async fn escaped(&self) -> Error {
        observe::escaped(&self.call.span);
        self.end();
        let why = "its body ended the transaction that it was given";
        match doubt(&self.store, &self.call.claim(false), why).await {
            Ok(()) => Error::TransactionEscaped {
                key: self.call.shown(),
            },
            Err(error) => error,
        }
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Lets the next attempt take the key over at once.
    pub(super) async fn release(&self, why: &'static str) {
        if self.ended.load(Ordering::Relaxed) {
            return;
        }
        self.end();
        Release::of(&self.call, &self.store, self.holder)
            .now(why)
            .await;
    }
}

/// A job that was cut off (its caller is gone, or its body panicked) is released by the runtime.
impl<DB: Backend> Drop for LeasedClaim<DB> {
    fn drop(&mut self) {
        if !self.ended.load(Ordering::Relaxed) {
            Release::of(&self.call, &self.store, self.holder).later("cut off");
        }
    }
}

/// While it lives, the job has a write transaction open.
#[derive(Debug)]
pub(crate) struct Writing(Arc<AtomicBool>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
