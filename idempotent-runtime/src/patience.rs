//! A limit that is hardly ever reached, on work that hardly ever takes long.
//!
//! A timer that ends before all others wakes the thread that waits for the network: a system call,
//! and a change of threads, for a claim that is answered before either is over. So all calls of a
//! process share one clock, a thread that ticks while any of them waits, and rests when none does. A
//! limit is found to be over at the next tick.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::observe;

const TICK: Duration = Duration::from_millis(200);

static CLOCK: Clock = Clock::new();

struct Clock {
    waits: Mutex<Waits>,
    /// Rung when the thread rests and somebody waits.
    wanted: Condvar,
}

struct Waits {
    next: u64,
    entries: BTreeMap<u64, Entry>,
    thread: Thread,
}

struct Entry {
    deadline: Instant,
    waker: Waker,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thread {
    None,
    Resting,
    /// Whether anybody has come since the last tick: calls come and go between two.
    Ticking {
        used: bool,
    },
}

impl Clock {
    const fn new() -> Self {
        Self {
            waits: Mutex::new(Waits {
                next: 0,
                entries: BTreeMap::new(),
                thread: Thread::None,
            }),
            wanted: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        // The map is whole whatever panicked while it was held.
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `waker` woken after `deadline`; gives what the wait goes by.
    fn enter(&'static self, deadline: Instant, waker: Waker) -> io::Result<u64> {
        let mut waits = self.lock();
        match waits.thread {
            Thread::Ticking { .. } => {}
            Thread::Resting => self.wanted.notify_one(),
            Thread::None => {
                std::thread::Builder::new()
                    .name("idempotent-patience".to_owned())
                    .spawn(|| self.tick())?;
            }
        }
        waits.thread = Thread::Ticking { used: true };
        let id = waits.next;
        waits.next += 1;
        waits.entries.insert(id, Entry { deadline, waker });
        Ok(id)
    }

    /// The thread.
    fn tick(&self) {
        loop {
            std::thread::sleep(TICK);
            let mut waits = self.lock();
            let now = Instant::now();
            let late = waits.entries.values().filter(|entry| entry.deadline <= now);
            let late: Vec<Waker> = late.map(|entry| entry.waker.clone()).collect();
            let used = matches!(waits.thread, Thread::Ticking { used: true });
            if used || !waits.entries.is_empty() {
                waits.thread = Thread::Ticking { used: false };
                drop(waits);
            } else {
                waits.thread = Thread::Resting;
                let rests = |waits: &mut Waits| waits.thread == Thread::Resting;
                drop(self.wanted.wait_while(waits, rests));
            }
            for waker in late {
                waker.wake();
            }
        }
    }
}

/// Waits for work that is given up soon after `deadline`.
pub(crate) fn within<F: Future + Unpin>(deadline: Instant, work: F) -> Within<F> {
    by(&CLOCK, deadline, work)
}

fn by<F: Future + Unpin>(clock: &'static Clock, deadline: Instant, work: F) -> Within<F> {
    Within {
        clock,
        work,
        deadline,
        wait: None,
    }
}

/// What [`within`] gives: the work's output, or nothing where it was given up.
pub(crate) struct Within<F> {
    clock: &'static Clock,
    work: F,
    deadline: Instant,
    /// From the first poll that found nothing.
    wait: Option<u64>,
}

impl<F: Future + Unpin> Future for Within<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = Pin::new(&mut self.work).poll(context) {
            return Poll::Ready(Some(output));
        }
        if self.deadline <= Instant::now() {
            return Poll::Ready(None);
        }
        match self.wait {
            Some(id) => {
                if let Some(entry) = self.clock.lock().entries.get_mut(&id) {
                    entry.waker.clone_from(context.waker());
                }
            }
            // Without a thread there is no limit, and nothing else is amiss.
            None => match self.clock.enter(self.deadline, context.waker().clone()) {
                Ok(id) => self.wait = Some(id),
                Err(problem) => observe::no_clock(&problem),
            },
        }
        Poll::Pending
    }
}

impl<F> Drop for Within<F> {
    fn drop(&mut self) {
        if let Some(id) = self.wait {
            self.clock.lock().entries.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn work_that_does_not_end_in_time_is_given_up_and_the_clock_rests() {
        static CLOCK: Clock = Clock::new();
        let soon = || Instant::now() + Duration::from_millis(20);

        let ready = std::future::ready(1);
        assert_eq!(by(&CLOCK, Instant::now(), ready).await, Some(1));
        let (end, ended) = tokio::sync::oneshot::channel();
        let work = tokio::spawn(by(&CLOCK, soon() + 60 * TICK, ended));
        tokio::task::yield_now().await;
        assert_eq!(CLOCK.lock().entries.len(), 1);
        end.send(2).unwrap();
        assert_eq!(work.await.unwrap(), Some(Ok(2)));
        // Twice, with a rest of the clock's between the two.
        for _ in 0..2 {
            let never = pin!(std::future::pending::<()>());
            assert_eq!(by(&CLOCK, soon(), never).await, None);
            while CLOCK.lock().thread != Thread::Resting {
                std::thread::sleep(TICK / 10);
            }
        }
        assert!(CLOCK.lock().entries.is_empty());
    }
}
