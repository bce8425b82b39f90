//! One attempt at the job, driven from wait to wait.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::timeout;
use tracing::Dispatch;

use super::error::{BoxError, in_words};
use super::turns::Turns;

/// The future of one call of the job.
pub(super) type Work<'a> = Pin<Box<dyn Future<Output = Result<(), BoxError>> + 'a>>;

/// How an attempt ended by itself; an error in words.
pub(super) type Ended = Result<(), String>;

/// A call of the job that can be left standing at any of its waits, and dropped there: whatever
/// awaits the database or the outside world returns `Poll::Pending` in between, and that is where
/// a process can be seen to die.
pub(super) struct Attempt<'a> {
    work: Work<'a>,
    waits: usize,
    /// Its process, with which it takes turns.
    turns: Turns,
    number: usize,
    /// Hears the statements, where the database logs them in the task that polls.
    listener: Option<Dispatch>,
    /// How long it may take before the lab takes it for one that hangs.
    patience: Duration,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        work: Work<'a>,
        turns: Turns,
        listener: Option<Dispatch>,
        patience: Duration,
    ) -> Self {
        static NUMBERS: AtomicUsize = AtomicUsize::new(0);
        Self {
            work,
            waits: 0,
            turns,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            listener,
            patience,
        }
    }

    /// Goes on to the `n`-th wait, and leaves it standing there: `None`. Or it ends before.
    pub(super) async fn until_wait(&mut self, n: usize) -> Option<Ended> {
        let patience = self.patience;
        let going = poll_fn(|cx| {
            if self.waits >= n {
                return Poll::Ready(None);
            }
            match self.poll(cx) {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                Poll::Pending if self.waits >= n => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        let stands = timeout(patience, going).await;
        self.turns.leave(self.number);
        stands.unwrap_or_else(|_| Some(hangs(patience)))
    }

    /// Goes on to the end.
    pub(super) async fn until_end(&mut self) -> Ended {
        let patience = self.patience;
        let going = poll_fn(|cx| self.poll(cx));
        let ended = timeout(patience, going).await;
        self.turns.leave(self.number);
        ended.unwrap_or_else(|_| hangs(patience))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let work = &mut self.work;
        // A panic ends this attempt, as it ends a worker's task; the lab goes on to the retry. What
        // the job's future may have left half-way is dropped with it.
        let polled = self.turns.poll(self.number, cx, |cx| {
            let mut poll = || catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
            match &self.listener {
                Some(listener) => tracing::dispatcher::with_default(listener, poll),
                None => poll(),
            }
        });
        match polled {
            Ok(Poll::Pending) => {
                self.waits += 1;
                Poll::Pending
            }
            Ok(Poll::Ready(ended)) => {
                Poll::Ready(ended.map_err(|error| format!("it failed: {}", in_words(&*error))))
            }
            Err(panic) => Poll::Ready(Err(format!("it panicked: {}", panic_message(&*panic)))),
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.turns.leave(self.number);
        // A statement that was sent, and not answered, is logged when it is dropped.
        let work = std::mem::replace(&mut self.work, Box::pin(async { Ok(()) }));
        match &self.listener {
            Some(listener) => tracing::dispatcher::with_default(listener, || drop(work)),
            None => drop(work),
        }
    }
}

fn hangs(patience: Duration) -> Ended {
    Err(format!(
        "it did not end within {patience:?}: it waits for what never comes (a message, another task, \
         a lock that the world holds), or it is slow, and needs a longer `.patience(…)`"
    ))
}

/// What `panic!` was given.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(with something that is not text)")
}
