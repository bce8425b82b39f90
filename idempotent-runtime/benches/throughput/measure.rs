//! Runs jobs on a number of tasks, and compares two ways of doing them pair by pair.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One round.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) wall: Duration,
    latencies: Vec<Duration>,
}

impl Round {
    /// The latency that a share of the jobs stayed under.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into some hundred latencies"
        )]
        let at = ((sorted.len() - 1) as f64 * share) as usize;
        sorted[at]
    }
}

/// Runs jobs `0..jobs` on `tasks` tasks.
pub(crate) async fn round<F, Fut>(tasks: usize, jobs: usize, job: F) -> anyhow::Result<Round>
where
    F: Fn(usize) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = anyhow::Result<()>> + Send,
{
    let (job, next) = (Arc::new(job), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now();
    let running: Vec<_> = (0..tasks.min(jobs))
        .map(|_| {
            let (job, next) = (Arc::clone(&job), Arc::clone(&next));
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= jobs {
                        return anyhow::Ok(latencies);
                    }
                    let began = Instant::now();
                    job(n).await?;
                    latencies.push(began.elapsed());
                }
            })
        })
        .collect();
    let mut latencies = Vec::with_capacity(jobs);
    for task in running {
        latencies.extend(task.await??);
    }
    Ok(Round {
        wall: began.elapsed(),
        latencies,
    })
}

/// Pairs of rounds, the contender's and ours.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pairs {
    pub(crate) hand: Vec<Round>,
    pub(crate) ours: Vec<Round>,
}

/// A ratio with its spread over the pairs: less than one is faster than the contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Pairs {
    /// Ours over the contender's, of whatever a round is asked for.
    pub(crate) fn ratio(&self, of: impl Fn(&Round) -> Duration) -> Ratio {
        let mut ratios: Vec<f64> = self
            .ours
            .iter()
            .zip(&self.hand)
            .map(|(ours, hand)| of(ours).as_secs_f64() / of(hand).as_secs_f64())
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| ratios[(ratios.len() - 1) * share / 4];
        Ratio {
            low: at(1),
            median: at(2),
            high: at(3),
        }
    }
}

/// The middle one of some durations.
pub(crate) fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations[durations.len() / 2]
}
