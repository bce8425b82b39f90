//! What the body of a leased job works with.

use std::fmt;

use sqlx::Pool;
use tokio::time::Instant;

use crate::dialect::Backend;
use crate::error::Error;
use crate::key::Key;
use crate::ledger::leased::{COMPLETION, LeasedClaim, Writing};
use crate::steps::Steps;
use crate::store::{Store, Writer};
use crate::tx::Tx;

/// A leased job at work: its key, its store, and the transaction that completes it.
///
/// ```
/// # use idempotent_runtime::{Error, Job, Sqlite};
/// # async fn charge(total: u32, key: &str) -> Result<String, Error> {
/// #     Ok(format!("receipt of {key} over {total}"))
/// # }
/// # async fn body(job: &mut Job<'_, Sqlite>) -> Result<(), Box<dyn std::error::Error>> {
/// let total: u32 = sqlx::query_scalar("SELECT total FROM orders WHERE id = 42")
///     .fetch_one(job.pool())
///     .await?;
/// let receipt = charge(total, job.key().as_str()).await?; // the same key on every attempt
/// sqlx::query("UPDATE orders SET receipt = ? WHERE id = 42")
///     .bind(receipt)
///     .execute(job.tx().await?) // commits with the key
///     .await?;
/// # Ok(())
/// # }
/// ```
pub struct Job<'a, DB: Backend> {
    pub(crate) claim: &'a LeasedClaim<DB>,
    pub(crate) steps: Steps,
    // The rollback is sent before the next writer may begin.
    pub(crate) tx: Option<Tx<'static, DB>>,
    writer: Writer,
    writing: Option<Writing>,
}

impl<'a, DB: Backend> Job<'a, DB> {
    pub(crate) fn new(claim: &'a LeasedClaim<DB>) -> Self {
        Self {
            claim,
            steps: Steps::default(),
            tx: None,
            writer: None,
            writing: None,
        }
    }

    /// The key of this work, the same on every attempt: hand it to every system outside that takes
    /// an idempotency key.
    #[must_use]
    pub fn key(&self) -> &'a Key {
        &self.claim.call.key
    }

    /// The store's pool, to read through. What is written through it is not part of the job: it
    /// stays when the job fails.
    #[must_use]
    pub fn pool(&self) -> &'a Pool<DB> {
        self.claim.store.pool()
    }

    /// The store, to call other jobs.
    #[must_use]
    pub fn store(&self) -> &'a Store<DB> {
        &self.claim.store
    }

    /// The attempt's fence, for the proof.
    #[cfg(feature = "failpoints")]
    #[doc(hidden)]
    #[must_use]
    pub fn fence(&self) -> i64 {
        self.claim.holder.fence
    }

    /// The completion transaction: what is written on this connection commits together with the
    /// key, or not at all. It begins at the first call; after that, only write, and soon: other
    /// systems' answers come before it.
    ///
    /// # Errors
    ///
    /// [`Error::StepMismatch`] where an earlier attempt recorded a step that this run did not come
    /// to, and [`Error::Database`] where the transaction cannot begin. Pass it on: the job's writes are
    /// undone, and the key is released.
    pub async fn tx(&mut self) -> Result<&mut DB::Connection, Error> {
        if self.tx.is_none() {
            self.no_step_left_out().await?;
        }
        let tx = match &mut self.tx {
            Some(tx) => tx,
            none => {
                let begun = self.claim.store.begin_write(COMPLETION, Instant::now());
                let (tx, writer) = point!("job::tx", "begin", begun).await?;
                self.writer = writer;
                self.writing = Some(self.claim.writing());
                none.insert(tx)
            }
        };
        Ok(tx.conn())
    }

    /// Lets go of the transaction; what is not committed rolls back.
    pub(crate) fn abandon(&mut self) {
        self.tx = None;
        self.writer = None;
        self.writing = None;
    }
}

impl<DB: Backend> fmt::Debug for Job<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("key", &self.claim.call.shown())
            .finish_non_exhaustive()
    }
}

/// The database of a job type.
pub trait JobBackend {
    /// Which.
    type Backend: Backend;
}

impl<DB: Backend> JobBackend for Job<'_, DB> {
    type Backend = DB;
}
