//! Leased jobs: the claim is committed first, with a lease; the body runs outside any transaction;
//! one transaction holds the job's writes and the key's completion.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use super::call::{Begun, Call, Ended};
use super::failed::IntoFailed as _;
use super::judge::Ruling;
use super::record::{Attempt, FIRST, Finish, Finished, Holder, Standing};
use super::release::{Asked, Release};
use super::transactional::read;
use crate::dialect::{Backend, Begin};
use crate::error::Error;
use crate::gate::{Entry, Pass};
use crate::held::Held;
use crate::job::Job;
use crate::observe;
use crate::retry::alone;
use crate::store::Store;
use crate::tx::Tx;
use crate::watch::Watch;

/// A claimed key of a leased job. Dropped unfinished, it lets the next attempt take over.
#[derive(Debug)]
pub struct LeasedClaim<DB: Backend> {
    pub(crate) call: Call,
    pub(crate) store: Store<DB>,
    pub(crate) holder: Holder,
    attempt: Attempt,
    held: Held,
    /// Set while a write transaction of the job's is open.
    writes: Arc<AtomicBool>,
    /// Whether the key needs no release any more.
    ended: AtomicBool,
    claimed_at: Instant,
    _pass: Pass,
}

/// Claims the key, or finds what an earlier attempt left.
pub(crate) async fn begin<DB: Backend>(
    call: Call,
    store: Store<DB>,
) -> Result<Begun<LeasedClaim<DB>>, Error> {
    store.ready().await?;
    let writes = Arc::new(AtomicBool::new(false));
    let held = Held::enter(
        &call.key,
        || call.shown(),
        call.site.name,
        Some(store.id()),
        false,
        Arc::clone(&writes),
    )?;
    let mut pass = None;
    let mut read_first = call.site.replay_is_likely();
    loop {
        if pass.is_none() && !read_first {
            match store.gate().enter(&call.key, call.deadline).await {
                Entry::First(first) => pass = Some(first),
                // Another call of this process has just let go of the key.
                Entry::After => read_first = true,
                Entry::Late => return Err(call.busy(call.site.wait)),
            }
        }
        let lease = call.site.lease;
        let mut attempt = None;
        if !read_first {
            let (mut tx, _writer) = store.write_connection(call.deadline).await?;
            let claimed_at = Instant::now();
            let claim = call.claim(false);
            let asked = Asked::of(&call, &store, FIRST);
            let leased = alone!(
                DB,
                call.lock_deadline(),
                tx,
                point!("leased::begin", "lease", DB::lease(tx.on(), &claim, lease))
            );
            attempt = match asked.answer(leased) {
                Ok(attempt) => attempt.map(|attempt| (attempt, claimed_at)),
                Err(error) if super::is_held::<DB>(&error) => {
                    drop(tx);
                    call.wait_for_holder(call.site.wait).await?;
                    continue;
                }
                Err(error) => return Err(error.into_failed::<DB>("claiming a key")),
            };
        }
        if attempt.is_none() {
            read_first = false;
            let mut conn = store.connection().await?;
            let record = point!("leased::begin", "read", read(&mut conn, &call)).await?;
            drop(conn);
            if without!("the second SELECT") {
                return Err(call.busy(call.site.wait));
            }
            let Some(record) = record else { continue };
            #[cfg(feature = "failpoints")]
            super::mutant::seize(&store, &call, &record).await?;
            match call.judge(record)? {
                Ruling::Replay(bytes) => return Ok(Begun::Stored(call.stored(bytes))),
                Ruling::Held(left) => {
                    call.wait_for_holder(left).await?;
                    read_first = true;
                }
                // Only behind the gate, as every other claim.
                Ruling::Leftover { .. } if pass.is_none() => {}
                Ruling::Leftover { fence, age } => {
                    if let Some(window) = call.site.key_window
                        && age > window
                        && !call.site.reconciles
                    {
                        return Err(Error::KeyWindowPassed {
                            key: call.shown(),
                            age,
                            window,
                        });
                    }
                    let (mut tx, _writer) = store.write_connection(call.deadline).await?;
                    let claimed_at = Instant::now();
                    let claim = call.claim(false);
                    let asked = Asked::of(&call, &store, fence + 1);
                    let answer = alone!(
                        DB,
                        call.lock_deadline(),
                        tx,
                        point!(
                            "leased::begin",
                            "take-over",
                            DB::take_over(tx.on(), &claim, lease, fence)
                        )
                    );
                    attempt = asked
                        .answer(answer)
                        .map_err(|error| error.into_failed::<DB>("taking over a key"))?
                        .map(|attempt| (attempt, claimed_at));
                    // Somebody else was faster.
                    read_first = attempt.is_none();
                }
            }
        }
        if let Some((attempt, claimed_at)) = attempt
            && let Some(pass) = pass.take()
        {
            observe::claimed(&call.span, attempt.number);
            let mut claim = LeasedClaim {
                holder: Holder {
                    owner: call.owner,
                    fence: attempt.fence,
                },
                call,
                store,
                attempt,
                held,
                writes,
                ended: AtomicBool::new(false),
                claimed_at,
                _pass: pass,
            };
            // The database may have read its clock before a wait: the lease is as old as the question.
            if claimed_at.elapsed() > lease / 2 {
                claim.renew().await?;
            }
            return Ok(Begun::Run(claim));
        }
    }
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
    async fn renew(&mut self) -> Result<(), Error> {
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
        match super::doubt(&self.store, &self.call.claim(false), why).await {
            Ok(()) => Error::TransactionEscaped {
                key: self.call.shown(),
            },
            Err(error) => error,
        }
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Lets the next attempt take the key over at once.
    async fn release(&self, why: &'static str) {
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

/// A leased job between its claim and its completion.
#[derive(Debug)]
pub struct LeasedRun<'a, DB: Backend> {
    claim: &'a LeasedClaim<DB>,
    job: Job<'a, DB>,
    /// What the guard reads through before the body runs.
    reader: Option<Tx<'static, DB>>,
}

impl<'a, DB: Backend> LeasedRun<'a, DB> {
    /// Takes a connection for `skip_if` and the guard to read through.
    pub async fn before(&mut self) -> Result<(), Error> {
        self.reader = Some(self.claim.store.connection().await?);
        Ok(())
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
        self.reader = None;
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
        self.reader = None;
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
        self.reader = None;
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
        self.reader = None;
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
        let holder = super::mutant::holder(tx, call, holder).await;
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
        if super::is_done_by(&claim.store, &claim.call).await {
            claim.end();
            observe::performed(&claim.call.span);
            return Ok(());
        }
        observe::failed(&claim.call.span);
        claim.release("commit failed").await;
        Err(error.into_failed::<DB>("committing a key"))
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

/// How the completion transaction of a leased job begins.
pub(crate) const COMPLETION: Begin = Begin { mark: true };
