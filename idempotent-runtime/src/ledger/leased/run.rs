//! A leased job between its claim and its end.

use std::sync::Arc;

use tokio::time::Instant;

use super::claim::LeasedClaim;
use crate::dialect::{Backend, Begin};
use crate::error::Error;
use crate::job::Job;
use crate::ledger::call::Ended;
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::is_done_by;
#[cfg(feature = "failpoints")]
use crate::ledger::mutant;
use crate::ledger::record::{Finish, Finished, Standing};
use crate::observe;
use crate::retry::alone;
use crate::tx::Tx;
use crate::watch::Watch;

/// A leased job between its claim and its completion.
#[derive(Debug)]
pub struct LeasedRun<'a, DB: Backend> {
    pub(super) claim: &'a LeasedClaim<DB>,
    pub(super) job: Job<'a, DB>,
    /// What the guard reads through before the body runs.
    pub(super) reader: Option<Tx<'static, DB>>,
}

impl<'a, DB: Backend> LeasedRun<'a, DB> {
    /// Takes a connection for `skip_if` and the guard to read through.
    pub async fn before(&mut self) -> Result<(), Error> {
        let reader = self.reader.insert(self.claim.store.connection().await?);
        // What is asked through it may be cut off.
        reader.sending();
        Ok(())
    }

    /// Lets go of the connection, when all that was asked through it has been answered.
    fn has_read(&mut self) {
        if let Some(mut reader) = self.reader.take() {
            reader.settle();
        }
    }

    /// The connection that was made ready: to read through before the body, and the completion
    /// transaction's after it.
    pub fn conn(&mut self) -> &mut DB::Connection {
        match (&mut self.job.tx, &mut self.reader) {
            (Some(tx), _) => tx.conn(),
            (None, Some(reader)) => reader.conn(),
            (None, None) => unreachable!("`before` or `after` comes first"),
        }
    }

    /// What the body's first parameter gets.
    pub fn first(&mut self) -> &mut Job<'a, DB> {
        self.has_read();
        &mut self.job
    }

    /// Runs the body as one that holds its key, with a heartbeat beside it.
    #[must_use]
    pub fn watch(&self) -> Watch<DB> {
        let claim = self.claim;
        Watch::leased(
            claim.held.clone(),
            claim.call.span.clone(),
            crate::watch::Heartbeat {
                store: claim.store.clone(),
                key: claim.call.key.clone(),
                shown: claim.call.shown(),
                holder: claim.holder,
                lease: claim.call.site.lease,
                claimed_at: claim.claimed_at,
                writes: Arc::clone(&claim.writes),
                span: claim.call.span.clone(),
            },
        )
    }

    /// Whether an attempt before this one did not finish.
    #[must_use]
    pub fn is_leftover(&self) -> bool {
        self.claim.is_leftover()
    }

    /// Opens the completion transaction, if the job has not.
    pub async fn after(&mut self) -> Result<(), Error> {
        self.has_read();
        self.job.tx().await.map(drop)
    }

    /// The error for a body that succeeded and did not leave its mark.
    #[must_use]
    pub fn unmet(&self) -> Error {
        Error::GuardUnmet {
            key: self.claim.call.shown(),
            job: self.claim.call.site.name.to_owned(),
            guard: self.claim.call.site.guard,
        }
    }

    /// Leaves no key behind: there was nothing to do. What an earlier attempt left stays.
    pub async fn skip(mut self) -> Result<Ended, Error> {
        let claim = self.claim;
        let ended = Ended(claim.call.span.clone());
        claim.call.site.learn(false);
        self.has_read();
        self.undo().await;
        if self.is_leftover() {
            claim.release("skipped").await;
            return Ok(ended);
        }
        let deadline = Instant::now() + crate::store::WRITER_WAIT;
        let (mut tx, _writer) = claim.store.write_connection(deadline).await?;
        alone!(
            DB,
            deadline,
            tx,
            point!(
                "leased::skip",
                "discard",
                DB::discard(tx.on(), claim.call.key.as_str(), &claim.holder)
            )
        )
        .map_err(|error| error.into_failed::<DB>("leaving a key"))?;
        claim.end();
        Ok(ended)
    }

    /// Undoes the job's writes, releases the key, and gives the error back.
    pub async fn fail<E>(mut self, error: E) -> E {
        let claim = self.claim;
        observe::failed(&claim.call.span);
        self.has_read();
        if let Some(tx) = &mut self.job.tx {
            match point!(
                "leased::fail",
                "check",
                DB::still_ours(tx.on(), &claim.call.claim(false), None)
            )
            .await
            {
                Ok(Standing::Open | Standing::Undone) => self.undo().await,
                Ok(Standing::Escaped) => {
                    drop(self.escaped().await);
                    return error;
                }
                Err(problem) => {
                    observe::not_undone(&claim.call.span, "undoing the job's writes", &problem);
                    self.job.abandon();
                }
            }
        }
        claim.release("failed").await;
        error
    }

    async fn undo(&mut self) {
        if let Some(tx) = &mut self.job.tx
            && let Err(problem) = point!("leased::undo", "rollback", tx.rollback()).await
        {
            observe::not_undone(&self.claim.call.span, "undoing the job's writes", &problem);
            tx.distrust();
        }
        self.job.abandon();
    }

    /// Records the result, and commits it with everything that the job wrote in `job.tx()`.
    pub async fn complete(mut self, result: Vec<u8>) -> Result<(), Error> {
        let claim = self.claim;
        let call = &claim.call;
        let limit = call.options.result_limit;
        if result.len() > limit {
            let error = call.too_large(result.len(), limit);
            return Err(self.fail(error).await);
        }
        let finish = Finish {
            result: &result,
            retain: call.site.retain,
        };
        let Some(tx) = &mut self.job.tx else {
            unreachable!("`after` comes first")
        };
        let holder = claim.holder;
        #[cfg(feature = "failpoints")]
        let holder = mutant::holder(tx, call, holder).await;
        let finished = point!(
            "leased::complete",
            "finish",
            DB::finish_lease(tx.on(), call.key.as_str(), &holder, &finish)
        )
        .await;
        match finished {
            Ok(Finished::Done) => {}
            Ok(Finished::Escaped) => return Err(self.escaped().await),
            Ok(Finished::Lost) if without!("the fence") => {}
            Ok(Finished::Lost) => {
                observe::lease_lost(&call.span);
                self.undo().await;
                claim.end();
                return Err(Error::LeaseLost { key: call.shown() });
            }
            Ok(Finished::TooLarge(limit)) => {
                let error = call.too_large(result.len(), limit);
                return Err(self.fail(error).await);
            }
            Err(error) => {
                let error = error.into_failed::<DB>("completing a key");
                return Err(self.fail(error).await);
            }
        }
        if let Err(error) = point!("leased::complete", "commit", tx.commit()).await {
            return self.unknown(error).await;
        }
        self.job.abandon();
        claim.end();
        call.site.learn(false);
        observe::performed(&call.span);
        Ok(())
    }

    /// The job ended its transaction by raw SQL.
    async fn escaped(&mut self) -> Error {
        if let Some(tx) = &mut self.job.tx {
            tx.distrust();
        }
        self.job.abandon();
        self.claim.escaped().await
    }

    /// A commit that failed may have committed: the row tells.
    async fn unknown(mut self, error: sqlx::Error) -> Result<(), Error> {
        let claim = self.claim;
        if let Some(tx) = &mut self.job.tx {
            tx.distrust();
        }
        self.job.abandon();
        if is_done_by(&claim.store, &claim.call).await {
            claim.end();
            observe::performed(&claim.call.span);
            return Ok(());
        }
        observe::failed(&claim.call.span);
        claim.release("commit failed").await;
        Err(error.into_failed::<DB>("committing a key"))
    }
}

/// How the completion transaction of a leased job begins.
pub(crate) const COMPLETION: Begin = Begin { mark: true };
