//! What the calls of this process come to, as metrics.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use metrics::{counter, gauge, histogram};

use crate::observability::{
    BODY_SECONDS, CALLS, DOUBTS, HEARTBEAT_FAILURES, KEYS, OVERHEAD_SECONDS, PURGED, STEPS,
    TAKEOVERS,
};
use crate::operators::{KeyState, Stats};

/// One call; counted when its last clone goes, which is when the call has returned.
#[derive(Debug)]
pub(super) struct Meter {
    job: &'static str,
    begun: Instant,
    body_nanos: AtomicU64,
    outcome: Mutex<Option<&'static str>>,
}

impl Meter {
    pub(super) fn start(job: &'static str) -> Arc<Self> {
        Arc::new(Self {
            job,
            begun: Instant::now(),
            body_nanos: AtomicU64::new(0),
            outcome: Mutex::new(None),
        })
    }

    /// The first word counts: a lost lease also fails. Only an escape says more than any other.
    pub(super) fn ended(&self, outcome: &'static str) {
        let mut ended = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_none() || outcome == "transaction_escaped" {
            *ended = Some(outcome);
        }
    }

    pub(super) fn claimed(&self, attempt: i32) {
        if attempt > 1 {
            counter!(TAKEOVERS, "job" => self.job).increment(1);
        }
    }

    pub(super) fn heartbeat_failed(&self) {
        counter!(HEARTBEAT_FAILURES, "job" => self.job).increment(1);
    }

    pub(super) fn step(&self, outcome: &'static str) {
        counter!(STEPS, "job" => self.job, "outcome" => outcome).increment(1);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let outcome = *self
            .outcome
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        // Its caller is gone, or its body panicked.
        let outcome = outcome.unwrap_or("cut_off");
        count(self.job, outcome);
        let whole = self.begun.elapsed().as_secs_f64();
        let body = *self.body_nanos.get_mut();
        let body = std::time::Duration::from_nanos(body).as_secs_f64();
        if body > 0.0 {
            histogram!(BODY_SECONDS, "job" => self.job).record(body);
        }
        histogram!(OVERHEAD_SECONDS, "job" => self.job, "outcome" => outcome)
            .record((whole - body).max(0.0));
    }
}

/// Takes the time of a body, wherever it stops.
pub(crate) struct BodyTimer {
    meter: Arc<Meter>,
    begun: Instant,
}

impl BodyTimer {
    pub(super) fn start(meter: &Arc<Meter>) -> Self {
        Self {
            meter: Arc::clone(meter),
            begun: Instant::now(),
        }
    }
}

impl Drop for BodyTimer {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.meter.body_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

pub(super) fn count(job: &'static str, outcome: &'static str) {
    counter!(CALLS, "job" => job, "outcome" => outcome).increment(1);
}

/// The gauge learns of a doubt at once; the next count of all keys corrects it.
pub(super) fn doubted(job: &'static str) {
    counter!(DOUBTS, "job" => job).increment(1);
    gauge!(KEYS, "job" => job, "state" => KeyState::InDoubt.as_str()).increment(1.0);
}

pub(super) fn purged(keys: u64) {
    counter!(PURGED).increment(keys);
}

/// Sets the gauges, to zero for a job that has no key any more.
pub(super) fn counted(stats: &Stats) {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    for job in &stats.jobs {
        known.insert(job.job.clone());
    }
    for name in known.iter() {
        let job = stats.jobs.iter().find(|job| job.job == *name);
        for state in KeyState::ALL {
            #[allow(clippy::cast_precision_loss, reason = "gauges are floats")]
            let keys = job.map_or(0, |job| job.count(state)) as f64;
            gauge!(KEYS, "job" => name.clone(), "state" => state.as_str()).set(keys);
        }
    }
}
