//! Points at which this crate can be made to fail, for the proof that it may.
//!
//! Every await that talks to the database is wrapped in `point!`, which passes one point before it
//! and one after it: `leased::complete::before-commit`, `leased::complete::after-commit`. Without the
//! feature `failpoints` the macro is the bare expression, and nothing of this module is compiled.
//!
//! What happens at a point is set with the `fail` crate (`fail::cfg("…", "2*off->1*return(stop)")`),
//! and done by the [`Hook`] of the process; this module knows no processes.

use std::sync::{OnceLock, atomic::AtomicBool, atomic::Ordering};

use crate::error::Error;

/// What to do at a point, after the hook has done its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Go on.
    GoOn,
    /// Fail, as when the connection has broken.
    Fail,
    /// Never go on: whoever awaits drops the future.
    Hang,
}

/// Called at every point, with what the `fail` crate has been told to return there, if anything.
pub type Hook = fn(point: &'static str, told: Option<&str>) -> Then;

static HOOK: OnceLock<Hook> = OnceLock::new();

/// Sets the hook of this process; the first one stays.
pub fn hook(hook: Hook) {
    let _ = HOOK.set(hook);
}

/// Whether a rule of the protocol is left out, to see that the proof would notice. Set by the
/// variable `IDEMPOTENT_WITHOUT`.
#[must_use]
pub fn without(rule: &str) -> bool {
    static LEFT_OUT: OnceLock<Option<String>> = OnceLock::new();
    let left_out = LEFT_OUT.get_or_init(|| std::env::var("IDEMPOTENT_WITHOUT").ok());
    left_out.as_deref() == Some(rule)
}

/// Whether the body of the last call has begun, where one call runs at a time: what a guard that is
/// not asked again needs to know.
pub(crate) static BODY_BEGUN: AtomicBool = AtomicBool::new(false);

/// Without the second question to the guard, whatever it says after the body is taken as met.
pub(crate) fn guard_is_not_asked_again() -> bool {
    without("the guard's second question") && BODY_BEGUN.load(Ordering::Relaxed)
}

/// An error that a point was told to return.
#[derive(Debug)]
pub(crate) struct Injected(&'static str);

impl From<Injected> for sqlx::Error {
    fn from(Injected(point): Injected) -> Self {
        Self::Io(std::io::Error::other(format!("failed at {point}")))
    }
}

impl From<Injected> for Error {
    fn from(injected: Injected) -> Self {
        Self::Database {
            doing: "passing a point that was told to fail",
            retryable: true,
            source: injected.into(),
        }
    }
}

async fn pass(point: &'static str) -> Result<(), Injected> {
    let told = fail::eval(point, |told| told).flatten();
    let Some(hook) = HOOK.get() else {
        return Ok(());
    };
    match hook(point, told.as_deref()) {
        Then::GoOn => Ok(()),
        Then::Fail => Err(Injected(point)),
        Then::Hang => std::future::pending().await,
    }
}

/// Awaits `work` between two points.
pub(crate) fn between<T, E: From<Injected>>(
    before: &'static str,
    after: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, E>> {
    // On the heap, or futures within futures would double at each point.
    let work = Box::pin(work);
    async move {
        pass(before).await?;
        let done = work.await?;
        pass(after).await?;
        Ok(done)
    }
}

/// Every place that has points, and what is awaited there: `place::before-what`, `place::after-what`.
pub const PLACES: &[(&str, &str)] = &[
    ("joined::begin", "begin"),
    ("joined::begin", "read"),
    ("joined::begin", "rollback"),
    ("joined::begin", "savepoint"),
    ("joined::begin", "undo"),
    ("leased::begin", "lease"),
    ("leased::begin", "read"),
    ("leased::begin", "renew"),
    ("leased::begin", "take-over"),
    ("leased::complete", "commit"),
    ("leased::complete", "finish"),
    ("leased::fail", "check"),
    ("leased::skip", "discard"),
    ("leased::undo", "rollback"),
    ("ledger::claim", "claim"),
    ("ledger::doubt", "mark"),
    ("ledger::release", "release"),
    ("ledger::unknown", "read"),
    ("step::load", "read"),
    ("step::record", "record"),
    ("step::tx", "begin"),
    ("step::tx", "commit"),
    ("step::tx", "finish"),
    ("step::undo", "check"),
    ("step::undo", "rollback"),
    ("transactional::already", "describe"),
    ("transactional::already", "undo"),
    ("transactional::begin", "begin"),
    ("transactional::begin", "read"),
    ("transactional::begin", "read-first"),
    ("transactional::begin", "reserve"),
    ("transactional::begin", "rollback"),
    ("transactional::begin", "undo"),
    ("transactional::complete", "commit"),
    ("transactional::complete", "finish"),
    ("transactional::deferred", "check"),
    ("transactional::doubt", "mark"),
    ("transactional::doubt", "rollback"),
    ("transactional::fail", "check"),
    ("transactional::undo", "rollback"),
    ("tx", "acquire"),
    ("job::tx", "begin"),
    ("watch::renew", "acquire"),
    ("watch::renew", "renew"),
];
