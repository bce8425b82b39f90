//! Spans and events: jobs, keys, attempts and outcomes; never inputs or results.
//!
//! Each call has one span, `idempotent`, with the fields `job`, `key`, `attempt` and `outcome`
//! (`performed`, `replayed`, `skipped`, `failed`), inside which the body runs.

use tracing::field::Empty;
use tracing::{Span, debug, error, info_span, warn};

use crate::error::{Error, ShownKey};
use crate::key::Key;
use crate::outcome::Skip;
use crate::site::Site;
use crate::store::Options;

pub(crate) fn span(site: &Site, key: &Key, options: Options) -> Span {
    info_span!(
        "idempotent",
        job = site.name,
        key = %options.show(key),
        attempt = Empty,
        outcome = Empty,
        joined = Empty,
    )
}

pub(crate) fn claimed(span: &Span, attempt: i32) {
    span.record("attempt", attempt);
    debug!(parent: span, attempt, "claimed");
}

/// The job runs in a transaction of the caller's, which may still roll back.
pub(crate) fn joined(span: &Span) {
    span.record("joined", true);
}

pub(crate) fn performed(span: &Span) {
    span.record("outcome", "performed");
    debug!(parent: span, "performed");
}

pub(crate) fn replayed(span: &Span) {
    span.record("outcome", "replayed");
    debug!(parent: span, "replayed");
}

pub(crate) fn skipped(span: &Span, why: &Skip) {
    span.record("outcome", "skipped");
    debug!(parent: span, reason = why.as_str(), "skipped");
}

/// The body failed; its error is the caller's, and is not shown.
pub(crate) fn failed(span: &Span) {
    span.record("outcome", "failed");
    debug!(parent: span, "failed; the key is free for a retry");
}

/// Undoing failed: the caller gets its own error, and the database undoes what was left open.
pub(crate) fn not_undone(span: &Span, doing: &'static str, problem: &sqlx::Error) {
    warn!(parent: span, error = problem as &dyn std::error::Error, "{doing} failed");
}

/// Releasing failed: the lease ends by itself.
pub(crate) fn not_released(span: &Span, problem: &Error) {
    warn!(parent: span, error = problem as &dyn std::error::Error, "releasing the key failed");
}

pub(crate) fn lease_lost(span: &Span) {
    warn!(parent: span, "the lease was lost; the attempt is stopped");
}

pub(crate) fn heartbeat_failed(span: &Span, problem: &Error) {
    warn!(parent: span, error = problem as &dyn std::error::Error, "a heartbeat did not get through");
}

pub(crate) fn escaped(span: &Span) {
    error!(parent: span, "the body ended the transaction that it was given; the key is in doubt");
}

pub(crate) fn resolved(key: &ShownKey, how: &'static str) {
    debug!(%key, how, "resolved");
}

pub(crate) fn purged(keys: u64) {
    debug!(keys, "purged");
}
