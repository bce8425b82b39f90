//! Chance that can be had again: a seed that is printed, and futures that are cut off.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Random numbers from a seed: `IDEMPOTENT_TEST_SEED`, or a new one.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// Begins, and says with which seed.
    #[must_use]
    pub fn seeded(what: &str) -> Self {
        let given = std::env::var("IDEMPOTENT_TEST_SEED");
        let seed = match given {
            Ok(given) => given.parse().expect("IDEMPOTENT_TEST_SEED is a number"),
            Err(_) => std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(1, |now| u64::from(now.subsec_nanos()) + 1),
        };
        eprintln!("{what}: IDEMPOTENT_TEST_SEED={seed}");
        Self(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        // Marsaglia's xorshift64*: enough to spread cuts.
        self.0 = self.0.max(1);
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        u32::try_from(high % u64::from(end)).unwrap_or(0)
    }
}

impl From<u32> for Chance {
    fn from(seed: u32) -> Self {
        Self(u64::from(seed) + 1)
    }
}

/// Runs a future until it has had to wait more than `waits` times, then drops it.
pub async fn cut_after<F: Future>(waits: u32, future: F) -> Option<F::Output> {
    let mut left = waits;
    let mut future = pin!(future);
    poll_fn(move |context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}
