//! One call of a job: what both kinds need before the claim.

use std::time::Duration;

use tokio::time::Instant;

use super::judge::{Ruling, judge};
use super::record::{Claim, Record};
use crate::error::{Error, ShownKey};
use crate::input::{Fingerprints, Inputs};
use crate::key::{Key, KeyBuilder};
use crate::observe::{self, Watched};
use crate::site::Site;
use crate::store::{Options, WRITER_WAIT};

/// A call: which job, which key, which inputs, and until when it may wait.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) site: &'static Site,
    pub(crate) key: Key,
    pub(crate) inputs: Fingerprints,
    pub(crate) options: Options,
    pub(crate) owner: [u8; 16],
    pub(crate) deadline: Instant,
    pub(crate) span: Watched,
}

impl Call {
    /// Refuses a call that could not be told from another one; nothing has been done yet.
    pub(crate) fn new(
        site: &'static Site,
        key: KeyBuilder,
        inputs: Inputs,
        options: Options,
    ) -> Result<Self, Error> {
        #[cfg(feature = "failpoints")]
        crate::failpoint::BODY_BEGUN.store(false, std::sync::atomic::Ordering::Relaxed);
        site.register()?;
        let key = key.finish(site.name)?;
        let inputs = inputs.finish()?;
        let mut owner = [0; 16];
        getrandom::fill(&mut owner).map_err(|_| Error::Unsupported {
            problem: "this machine gives no random bytes to tell attempts apart".to_owned(),
        })?;
        let span = observe::call(site, &key, options);
        Ok(Self {
            site,
            key,
            inputs,
            options,
            owner,
            deadline: Instant::now() + site.wait,
            span,
        })
    }

    pub(crate) fn shown(&self) -> ShownKey {
        self.options.show(&self.key)
    }

    pub(crate) fn claim(&self, joined: bool) -> Claim<'_> {
        Claim {
            key: &self.key,
            job: self.site.name,
            inputs: self.inputs.as_stored(),
            owner: self.owner,
            joined,
            mark: self.site.unique.is_some(),
            in_turn: false,
            lock_wait: self.left(),
            reserved: false,
        }
    }

    /// How long the call may wait yet.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Until when a lock of other keys' writers may be waited for.
    pub(crate) fn lock_deadline(&self) -> Instant {
        self.deadline.max(Instant::now() + WRITER_WAIT)
    }

    pub(crate) fn judge(&self, record: Record) -> Result<Ruling, Error> {
        judge(record, || self.shown(), self.site.name, &self.inputs)
    }

    /// The error for a key that is still held at the deadline.
    pub(crate) fn busy(&self, retry_after: Duration) -> Error {
        Error::Busy {
            key: self.shown(),
            retry_after,
        }
    }

    /// The error for a result that is not stored for its size.
    pub(crate) fn too_large(&self, size: usize, limit: usize) -> Error {
        Error::ResultTooLarge {
            key: self.shown(),
            size,
            limit,
        }
    }

    /// Waits a little for a key that is held elsewhere, or gives up at the deadline. The pauses are
    /// of random length, so that waiters do not come all at once.
    pub(crate) async fn wait_for_holder(&self, lease_left: Duration) -> Result<(), Error> {
        let left = self.left();
        if left.is_zero() {
            return Err(self.busy(lease_left));
        }
        let jitter = u64::from(getrandom::u32().unwrap_or(0) % 40);
        tokio::time::sleep(Duration::from_millis(10 + jitter).min(left)).await;
        Ok(())
    }

    /// The stored result of an earlier call.
    pub(crate) fn stored(self, bytes: Vec<u8>) -> Stored {
        self.site.learn(true);
        observe::replayed(&self.span);
        Stored {
            key: self.shown(),
            job: self.site.name,
            bytes,
        }
    }
}

/// A stored result, and whose it is.
#[derive(Debug)]
pub struct Stored {
    pub(crate) key: ShownKey,
    pub(crate) job: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// What a call found.
#[derive(Debug)]
pub enum Begun<R> {
    /// The key is this call's: run the body.
    Run(R),
    /// An earlier call completed the key.
    Stored(Stored),
}

/// A call that left no key behind.
#[derive(Debug)]
pub struct Ended(pub(crate) Watched);
