#![doc = include_str!("docs/observability.md")]

/// Counter, by `job` and `outcome`: the calls of this process.
pub const CALLS: &str = "idempotent_calls_total";
/// Histogram in seconds, by `job`: the time that bodies took.
pub const BODY_SECONDS: &str = "idempotent_body_seconds";
/// Histogram in seconds, by `job` and `outcome`: what calls took beside their bodies.
pub const OVERHEAD_SECONDS: &str = "idempotent_overhead_seconds";
/// Counter, by `job`: attempts that took over a key from one that was left unfinished.
pub const TAKEOVERS: &str = "idempotent_takeovers_total";
/// Counter, by `job`: heartbeats that did not get through.
pub const HEARTBEAT_FAILURES: &str = "idempotent_heartbeat_failures_total";
/// Counter, by `job` and `outcome` (`recorded`, `replayed`): steps of leased jobs.
pub const STEPS: &str = "idempotent_steps_total";
/// Counter, by `job`: keys that this process left in doubt.
pub const DOUBTS: &str = "idempotent_doubts_total";
/// Gauge, by `job` and `state`: the keys of the ledger, as counted last.
pub const KEYS: &str = "idempotent_keys";
/// Counter: keys that this process forgot in purges.
pub const PURGED: &str = "idempotent_purged_keys_total";

/// Tells the recorder that is installed what the metrics mean, for those that pass it on.
///
/// Call it once, after the recorder is installed; without it everything else works all the same.
#[cfg(feature = "metrics")]
pub fn describe_metrics() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

    describe_counter!(CALLS, "calls of idempotent jobs, by outcome");
    describe_histogram!(BODY_SECONDS, Unit::Seconds, "the time that bodies took");
    describe_histogram!(
        OVERHEAD_SECONDS,
        Unit::Seconds,
        "what calls took beside their bodies, waiting included"
    );
    describe_counter!(TAKEOVERS, "attempts that took over an unfinished key");
    describe_counter!(HEARTBEAT_FAILURES, "heartbeats that did not get through");
    describe_counter!(STEPS, "steps of leased jobs, recorded or replayed");
    describe_counter!(DOUBTS, "keys that were left in doubt");
    describe_gauge!(KEYS, "keys of the ledger by state, as counted last");
    describe_counter!(PURGED, "keys forgotten in purges");
}
