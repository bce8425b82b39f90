//! The attempt and the database take turns, so that a run has the same waits each time.
//!
//! SQLite answers from threads of its own, often before the job's future has finished the poll in
//! which it asked: then there is no wait to cut at, and the next run has one. So the threads hold an
//! answer back while the future is being polled, or has been woken and is about to be: it then waits
//! for every answer. What a server answers is held back by the `relay`.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// Far more than a poll takes: a job that blocks its thread until the database answers is waited for
/// no longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whose turn it is, among the attempts and the database threads of one process.
#[derive(Debug, Clone, Default)]
pub struct Turns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    attempts: Mutex<Vec<Turn>>,
    passed: Condvar,
    /// The same, for tasks.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    told: tokio::sync::Notify,
}

#[derive(Debug)]
struct Turn {
    attempt: usize,
    polled: bool,
    woken: bool,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Vec<Turn>> {
        let attempts = self.0.attempts.lock();
        attempts.unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls a future; database threads wait meanwhile. `attempt` tells the futures apart.
    pub(super) fn poll<T>(
        &self,
        attempt: usize,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> T,
    ) -> T {
        self.set(attempt, true);
        let bell = Waker::from(Arc::new(Bell {
            turns: self.clone(),
            attempt,
            waker: cx.waker().clone(),
        }));
        let polled = poll(&mut Context::from_waker(&bell));
        self.set(attempt, false);
        polled
    }

    fn set(&self, attempt: usize, polled: bool) {
        let mut attempts = self.lock();
        match attempts.iter_mut().find(|turn| turn.attempt == attempt) {
            Some(turn) => {
                turn.polled = polled;
                // What woke it is answered by this poll; what wakes it from now on, by the next.
                turn.woken &= !polled;
            }
            None => attempts.push(Turn {
                attempt,
                polled,
                woken: false,
            }),
        }
        drop(attempts);
        self.pass();
    }

    fn pass(&self) {
        self.0.passed.notify_all();
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        self.0.told.notify_waiters();
    }

    /// A future is not polled any more, or not for now: nobody waits for it.
    pub(super) fn leave(&self, attempt: usize) {
        self.lock().retain(|turn| turn.attempt != attempt);
        self.pass();
    }

    fn woken(&self, attempt: usize) {
        let mut attempts = self.lock();
        if let Some(turn) = attempts.iter_mut().find(|turn| turn.attempt == attempt) {
            turn.woken = true;
        }
    }

    /// Waits in a database thread until every future waits.
    pub(super) fn wait(&self) {
        let at_work = |attempts: &mut Vec<Turn>| at_work(attempts);
        let attempts = self.lock();
        // Late or not, the thread goes on.
        drop(
            self.0
                .passed
                .wait_timeout_while(attempts, PATIENCE, at_work),
        );
    }
}

fn at_work(attempts: &[Turn]) -> bool {
    attempts.iter().any(|turn| turn.polled || turn.woken)
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
impl Turns {
    /// Waits in a task until every future waits.
    pub(super) async fn quiet(&self) {
        let quiet = async {
            loop {
                let told = self.0.told.notified();
                tokio::pin!(told);
                // From here on nothing is missed.
                told.as_mut().enable();
                if !at_work(&self.lock()) {
                    return;
                }
                told.await;
            }
        };
        // Late or not, the answer goes on.
        let _ = tokio::time::timeout(PATIENCE, quiet).await;
    }
}

/// Wakes the task, and notes that its turn has come.
struct Bell {
    turns: Turns,
    attempt: usize,
    waker: Waker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.turns.woken(self.attempt);
        self.waker.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn an_answer_comes_after_the_poll_that_asked_for_it() {
        let turns = Turns::default();
        let (answer, answered) = mpsc::channel();
        let mut cx = Context::from_waker(Waker::noop());
        turns.poll(1, &mut cx, |_| {
            let turns = turns.clone();
            std::thread::spawn(move || {
                turns.wait();
                answer.send(()).unwrap();
            });
            // Looked for while the poll lasts: once it has ended, the thread may be the faster one.
            let early = answered.recv_timeout(Duration::from_millis(20));
            assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout));
        });
        assert_eq!(answered.recv(), Ok(()));
    }

    #[test]
    fn a_woken_future_is_waited_for_until_it_is_polled_or_leaves() {
        let turns = Turns::default();
        let mut cx = Context::from_waker(Waker::noop());
        turns.poll(1, &mut cx, |cx| cx.waker().wake_by_ref());
        assert!(turns.lock()[0].woken);
        turns.poll(1, &mut cx, |_| ());
        turns.wait();
        turns.poll(1, &mut cx, |cx| cx.waker().wake_by_ref());
        turns.leave(1);
        turns.wait();
    }
}
