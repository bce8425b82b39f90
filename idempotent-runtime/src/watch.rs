//! Runs a body as one that holds its key, and keeps its lease.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use crate::dialect::Backend;
use crate::error::{Error, ShownKey};
use crate::held::Held;
use crate::key::Key;
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::record::Holder;
use crate::observe::{self, BodyTimer, Watched};
use crate::retry::alone;
use crate::store::Store;

/// What runs a body.
#[derive(Debug)]
pub struct Watch<DB: Backend> {
    held: Held,
    span: Watched,
    heartbeat: Option<Heartbeat<DB>>,
}

impl<DB: Backend> Watch<DB> {
    pub(crate) fn unleased(held: Held, span: Watched) -> Self {
        Self {
            held,
            span,
            heartbeat: None,
        }
    }

    pub(crate) fn leased(held: Held, span: Watched, heartbeat: Heartbeat<DB>) -> Self {
        Self {
            held,
            span,
            heartbeat: Some(heartbeat),
        }
    }

    /// Runs the body. A lost lease drops it, and is the error.
    ///
    /// The heartbeat is polled in the same future: whatever drops the body stops it too.
    pub fn body<F: Future>(self, body: F) -> Watching<F> {
        Watching {
            // On the heap, once: each future around it would otherwise hold the body twice (as its
            // argument, and as what it awaits), and jobs that call jobs outgrew the stack.
            body: Some(Box::pin(body)),
            around: self.around(),
        }
    }

    fn around(self) -> Around {
        let lost = self.heartbeat.map(Heartbeat::until_lost);
        Around {
            held: self.held,
            span: self.span,
            timer: None,
            lost: lost.map(|lost| Box::pin(lost) as Lost),
        }
    }
}

/// A body that is watched.
///
/// Only what touches the body itself is generic over it: all else is compiled once, and not once in
/// every job.
#[derive(Debug)]
pub struct Watching<F> {
    /// `None` once it has ended.
    body: Option<Pin<Box<F>>>,
    around: Around,
}

impl<F: Future> Future for Watching<F> {
    type Output = Result<F::Output, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { body, around } = &mut *self;
        around.begin();
        let mut output = None;
        around.within(&mut || {
            if let Some(running) = body
                && let Poll::Ready(given) = running.as_mut().poll(context)
            {
                output = Some(given);
                *body = None;
            }
        });
        if let Some(output) = output {
            around.end();
            return Poll::Ready(Ok(output));
        }
        let error = ready!(around.poll_lost(context));
        around.within(&mut || *body = None);
        around.end();
        Poll::Ready(Err(error))
    }
}

impl<F> Drop for Watching<F> {
    fn drop(&mut self) {
        let Self { body, around } = self;
        if body.is_some() {
            // Not as one that holds its key: this may be the end of the thread, and of what it knows.
            around.span.scope(&mut || *body = None);
        }
    }
}

type Lost = Pin<Box<dyn Future<Output = Error> + Send>>;

/// What is around a body.
struct Around {
    held: Held,
    span: Watched,
    /// From the first poll to the end.
    timer: Option<BodyTimer>,
    /// Ends when the lease is lost, or may be.
    lost: Option<Lost>,
}

impl Around {
    fn begin(&mut self) {
        if self.timer.is_none() {
            #[cfg(feature = "failpoints")]
            crate::failpoint::BODY_BEGUN.store(true, Ordering::Relaxed);
            self.timer = Some(self.span.time());
        }
    }

    /// Inside the span, and with the key known to jobs that are called.
    fn within(&self, work: &mut dyn FnMut()) {
        self.held.scope(|| self.span.scope(work));
    }

    fn poll_lost(&mut self, context: &mut Context<'_>) -> Poll<Error> {
        match &mut self.lost {
            Some(lost) => lost.as_mut().poll(context),
            None => Poll::Pending,
        }
    }

    fn end(&mut self) {
        self.timer = None;
        self.lost = None;
    }
}

impl fmt::Debug for Around {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around").finish_non_exhaustive()
    }
}

/// What a lease needs to be renewed.
#[derive(Debug)]
pub(crate) struct Heartbeat<DB: Backend> {
    pub(crate) store: Store<DB>,
    pub(crate) key: Key,
    pub(crate) shown: ShownKey,
    pub(crate) holder: Holder,
    pub(crate) lease: Duration,
    pub(crate) claimed_at: Instant,
    pub(crate) writes: Arc<AtomicBool>,
    pub(crate) span: Watched,
}

impl<DB: Backend> Heartbeat<DB> {
    /// Renews the lease every third of it; ends when it is lost, or may be.
    ///
    /// The deadline is by this process's own monotonic clock, from before the claim was sent: where
    /// no heartbeat gets through, the body stops before another attempt can begin.
    async fn until_lost(self) -> Error {
        let mut deadline = self.claimed_at + self.lease;
        let mut next = self.claimed_at + self.lease / 3;
        loop {
            sleep_until(next).await;
            if DB::ONE_WRITER && self.writes.load(Ordering::Relaxed) {
                // The open write transaction keeps every other attempt out, and this one too.
                next = Instant::now() + self.lease / 3;
                deadline = next + self.lease;
                continue;
            }
            let sent = Instant::now();
            match timeout_at(deadline, self.renew(deadline)).await {
                Ok(Ok(true)) => {
                    deadline = sent + self.lease;
                    next = sent + self.lease / 3;
                }
                // The job's own write transaction began while this heartbeat waited for its turn.
                Err(_) if DB::ONE_WRITER && self.writes.load(Ordering::Relaxed) => {}
                Ok(Ok(false)) | Err(_) => break,
                Ok(Err(problem)) => {
                    observe::heartbeat_failed(&self.span, &problem);
                    next = Instant::now() + self.lease / 10;
                    if next >= deadline {
                        sleep_until(deadline).await;
                        break;
                    }
                }
            }
        }
        observe::lease_lost(&self.span);
        Error::LeaseLost { key: self.shown }
    }

    async fn renew(&self, deadline: Instant) -> Result<bool, Error> {
        const DOING: &str = "renewing a lease";

        let _writer = self.store.writer(deadline).await?;
        let mut tx = point!("watch::renew", "acquire", self.store.heartbeat_connection()).await?;
        alone!(
            DB,
            deadline,
            tx,
            point!(
                "watch::renew",
                "renew",
                DB::renew(tx.on(), self.key.as_str(), &self.holder, self.lease)
            )
        )
        .map_err(|error| error.into_failed::<DB>(DOING))
    }
}
