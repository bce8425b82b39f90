//! Waiting for a lock that somebody else holds, without holding a thread.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::dialect::{Backend, Fault};

/// Pauses that grow, up to a deadline.
pub(crate) struct Pauses {
    deadline: Instant,
    next: Duration,
}

impl Pauses {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self {
            deadline,
            next: Duration::from_millis(1),
        }
    }

    /// Whether the error is a lock of somebody else's that is worth another try; if so, waits a
    /// little first. Databases that queue for their locks have waited already.
    pub(crate) async fn for_lock<DB: Backend>(&mut self, error: &sqlx::Error) -> bool {
        DB::ONE_WRITER && DB::fault(error) == Fault::Locked && self.pause().await
    }

    /// The same for a statement in no transaction: where it was made to give way, nothing was done,
    /// and it is sent again. (Sessions whose default is REPEATABLE READ see that often.)
    pub(crate) async fn for_statement<DB: Backend>(&mut self, error: &sqlx::Error) -> bool {
        match DB::fault(error) {
            Fault::StaleSnapshot | Fault::GaveWay => self.pause().await,
            _ => self.for_lock::<DB>(error).await,
        }
    }

    async fn pause(&mut self) -> bool {
        if Instant::now() + self.next >= self.deadline {
            return false;
        }
        sleep(self.next).await;
        self.next = (self.next * 2).min(Duration::from_millis(25));
        true
    }
}

/// Makes an attempt outside of any transaction again while somebody else is in its way. (A macro,
/// for a closure's future cannot be required to be `Send`.)
macro_rules! retry_locked {
    ($db:ty, $deadline:expr, $attempt:expr) => {{
        let mut pauses = $crate::retry::Pauses::until($deadline);
        loop {
            match $attempt.await {
                Err(error) if pauses.for_statement::<$db>(&error).await => {}
                done => break done,
            }
        }
    }};
}
pub(crate) use retry_locked;

/// The same for a statement on its own, to its commit.
macro_rules! alone {
    ($db:ty, $deadline:expr, $tx:ident, $statement:expr) => {{
        let mut pauses = $crate::retry::Pauses::until($deadline);
        loop {
            $tx.sending();
            let done = $statement.await;
            $tx.settle();
            match done {
                Err(error) if pauses.for_statement::<$db>(&error).await => {}
                Ok(done) => break $tx.end_statement().await.map(|()| done),
                Err(error) => break Err(error),
            }
        }
    }};
}
pub(crate) use alone;
