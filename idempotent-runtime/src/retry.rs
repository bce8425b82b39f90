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
        if !DB::ONE_WRITER
            || DB::fault(error) != Fault::Locked
            || Instant::now() + self.next >= self.deadline
        {
            return false;
        }
        sleep(self.next).await;
        self.next = (self.next * 2).min(Duration::from_millis(25));
        true
    }
}

/// Makes an attempt again while somebody else holds the database's lock. (A macro, for a closure's
/// future cannot be required to be `Send`.)
macro_rules! retry_locked {
    ($db:ty, $deadline:expr, $attempt:expr) => {{
        let mut pauses = $crate::retry::Pauses::until($deadline);
        loop {
            match $attempt.await {
                Err(error) if pauses.for_lock::<$db>(&error).await => {}
                done => break done,
            }
        }
    }};
}
pub(crate) use retry_locked;
