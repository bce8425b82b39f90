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

/// Runs a future until it has had to wait more than `limit` times, then drops it. Says how often it
/// has waited.
async fn run<F: Future>(limit: u32, future: F) -> (Option<F::Output>, u32) {
    let mut waited = 0;
    let mut future = pin!(future);
    let output = poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if waited == limit => Poll::Ready(None),
        Poll::Pending => {
            waited += 1;
            Poll::Pending
        }
    })
    .await;
    (output, waited)
}

/// Runs a future until it has had to wait more than `waits` times, then drops it.
pub async fn cut_after<F: Future>(waits: u32, future: F) -> Option<F::Output> {
    run(waits, future).await.0
}

/// Cuts futures off at random waits.
///
/// How often a call waits depends on how fast the other side answers, so where to cut is drawn from
/// what the last whole run has waited, and a little beyond: some are cut and some are not, on any
/// machine.
#[derive(Debug)]
pub struct Cuts {
    chance: Chance,
    /// How often a whole run waits, about.
    waits: u32,
    /// How many futures ended by themselves.
    pub whole: u32,
    /// How many were dropped.
    pub cut: u32,
}

impl Cuts {
    /// Draws from `chance`.
    #[must_use]
    pub fn drawn_from(chance: Chance) -> Self {
        Self {
            chance,
            waits: 8,
            whole: 0,
            cut: 0,
        }
    }

    /// Runs a future until it has had to wait more often than this time's limit, then drops it.
    pub async fn cut<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let limit = self.chance.below(self.waits + 2);
        let (output, waited) = run(limit, future).await;
        if output.is_some() {
            self.whole += 1;
            self.waits = waited;
        } else {
            self.cut += 1;
            self.waits += 1;
        }
        output
    }
}
