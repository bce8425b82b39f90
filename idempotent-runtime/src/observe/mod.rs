//! Spans, events and metrics: jobs, keys, attempts and outcomes; never inputs or results.
//!
//! Each call has one span, `idempotent`, inside which the body runs. What is told, under which names,
//! is listed in the docs of [`observability`](crate::observability).

#[cfg(feature = "metrics")]
mod meter;

use tracing::field::Empty;
use tracing::{Span, debug, error, info_span, warn};

use crate::error::{Error, ShownKey};
use crate::key::Key;
use crate::operators::Stats;
use crate::outcome::Skip;
use crate::site::Site;
use crate::store::Options;

/// One call, as it is watched; clones are of the same call.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    span: Span,
    #[cfg(feature = "metrics")]
    meter: std::sync::Arc<meter::Meter>,
}

impl Watched {
    /// Says what became of the call.
    fn ended(&self, outcome: &'static str) {
        self.span.record("outcome", outcome);
        #[cfg(feature = "metrics")]
        self.meter.ended(outcome);
    }

    /// Does a part of the body inside the span.
    pub(crate) fn scope(&self, work: &mut dyn FnMut()) {
        self.span.in_scope(work);
    }

    /// Takes the body's time, from now until it is dropped.
    pub(crate) fn time(&self) -> BodyTimer {
        #[cfg(feature = "metrics")]
        return meter::BodyTimer::start(&self.meter);
        #[cfg(not(feature = "metrics"))]
        BodyTimer
    }
}

#[cfg(feature = "metrics")]
pub(crate) use meter::BodyTimer;

/// Without metrics, nobody asks.
#[cfg(not(feature = "metrics"))]
pub(crate) struct BodyTimer;

pub(crate) fn call(site: &Site, key: &Key, options: Options) -> Watched {
    Watched {
        span: info_span!(
            "idempotent",
            job = site.name,
            key = %options.show(key),
            attempt = Empty,
            outcome = Empty,
            joined = Empty,
        ),
        #[cfg(feature = "metrics")]
        meter: meter::Meter::start(site.name),
    }
}

/// A call that was refused before it had a key of its own, or inputs to compare.
pub(crate) fn not_called(site: &Site, problem: &Error) {
    debug!(job = site.name, kind = problem.kind(), "refused");
    #[cfg(feature = "metrics")]
    meter::count(site.name, problem.kind());
}

/// A call that did not get its key.
pub(crate) fn refused(call: &Watched, problem: &Error) {
    call.ended(problem.kind());
    debug!(parent: &call.span, kind = problem.kind(), "refused");
}

pub(crate) fn claimed(call: &Watched, attempt: i32) {
    call.span.record("attempt", attempt);
    #[cfg(feature = "metrics")]
    call.meter.claimed(attempt);
    debug!(parent: &call.span, attempt, "claimed");
}

/// The job runs in a transaction of the caller's, which may still roll back.
pub(crate) fn joined(call: &Watched) {
    call.span.record("joined", true);
}

pub(crate) fn performed(call: &Watched) {
    call.ended("performed");
    debug!(parent: &call.span, "performed");
}

pub(crate) fn replayed(call: &Watched) {
    call.ended("replayed");
    debug!(parent: &call.span, "replayed");
}

pub(crate) fn skipped(call: &Watched, why: &Skip) {
    call.ended("skipped");
    debug!(parent: &call.span, reason = why.as_str(), "skipped");
}

/// The body failed; its error is the caller's, and is not shown.
pub(crate) fn failed(call: &Watched) {
    call.ended("failed");
    debug!(parent: &call.span, "failed; the key is free for a retry");
}

/// Undoing failed: the caller gets its own error, and the database undoes what was left open.
pub(crate) fn not_undone(call: &Watched, doing: &'static str, problem: &sqlx::Error) {
    warn!(parent: &call.span, error = problem as &dyn std::error::Error, "{doing} failed");
}

/// The machine has no thread left: how long claims wait is limited by the database alone.
pub(crate) fn no_clock(problem: &std::io::Error) {
    warn!(
        error = problem as &dyn std::error::Error,
        "no thread to limit the waits of claims"
    );
}

/// Releasing failed: the lease ends by itself.
pub(crate) fn not_released(call: &Watched, problem: &Error) {
    warn!(parent: &call.span, error = problem as &dyn std::error::Error, "releasing the key failed");
}

pub(crate) fn lease_lost(call: &Watched) {
    call.ended("lease_lost");
    warn!(parent: &call.span, "the lease was lost; the attempt is stopped");
}

pub(crate) fn heartbeat_failed(call: &Watched, problem: &Error) {
    #[cfg(feature = "metrics")]
    call.meter.heartbeat_failed();
    warn!(parent: &call.span, error = problem as &dyn std::error::Error, "a heartbeat did not get through");
}

pub(crate) fn escaped(call: &Watched) {
    call.ended("transaction_escaped");
    error!(parent: &call.span, "the body ended the transaction that it was given; the key is in doubt");
}

/// The key is marked: only a person can decide on it.
pub(crate) fn doubted(job: &'static str) {
    #[cfg(feature = "metrics")]
    meter::doubted(job);
    #[cfg(not(feature = "metrics"))]
    let _ = job;
}

/// A step ran, and its result is recorded.
pub(crate) fn step_recorded(call: &Watched, step: &str) {
    debug!(parent: &call.span, step, "step recorded");
    #[cfg(feature = "metrics")]
    call.meter.step("recorded");
}

/// A step's result is that of an earlier attempt.
pub(crate) fn step_replayed(call: &Watched, step: &str) {
    debug!(parent: &call.span, step, "step replayed");
    #[cfg(feature = "metrics")]
    call.meter.step("replayed");
}

/// The keys were counted.
pub(crate) fn counted(stats: &Stats) {
    #[cfg(feature = "metrics")]
    meter::counted(stats);
    #[cfg(not(feature = "metrics"))]
    let _ = stats;
}

pub(crate) fn resolved(key: &ShownKey, how: &'static str) {
    debug!(%key, how, "resolved");
}

pub(crate) fn purged(keys: u64) {
    debug!(keys, "purged");
    #[cfg(feature = "metrics")]
    meter::purged(keys);
}

/// The job gets its own error, for the violation may be of another table's constraint.
#[cfg(feature = "mysql")]
pub(crate) fn ambiguous(index: &str) {
    warn!(
        index,
        "several tables have a unique index of this name, and the server does not say which was \
         violated; give the one that `unique = …` means a name of its own"
    );
}
