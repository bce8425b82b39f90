//! The trials, in their order: what is done to a job, and what has to come of it.
//!
//! - `once`: undisturbed, twice: what one run leaves, and that it leaves the same each time.
//! - `again`: called once more after it is done.
//! - `cut`: cut off at every wait, as by a kill (and retried by another process), and as by a
//!   dropped future (and retried on the same store).
//! - `together`: twice at once, the second call beginning at every wait of the first.
//! - `stalled`: left standing at every wait until its lease is over and another attempt has taken
//!   over; then it goes on.
//!
//! A trial stops at its first difference: the earliest one is the most telling.

mod again;
mod cut;
mod once;
mod stalled;
mod together;

use super::attempt::Ended;
use super::cause::Evidence;
use super::database::LabDatabase;
use super::error::LabError;
use super::lab::Experiment;
use super::report::{Difference, Report};
use super::scenario::Scenario;
use super::world::{Process, State, World};
pub(super) use once::Once;

/// How often a failed call is retried before the lab takes it that it never succeeds.
const RETRIES: usize = 5;

/// Where a job or the world outside answers at its own pace, the waits of a run vary by a few: that one
/// run ended before its `n`-th wait does not show that none reaches it. So many in a row do.
const CALM: usize = 3;

/// How often a job is killed at every wait, at most, until it was after each of its statements.
const SWEEPS: usize = 5;

pub(super) async fn run<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
) -> Result<Report, LabError> {
    let (once, second) = once::run(lab).await?;
    let mut report = Report::new(once.statements.clone());
    again::run(lab, &once, second, &mut report).await?;
    // Once does, but for a server that no relay reaches: its answer may be there before the job has
    // begun to wait for it, and then there is no cut after a statement that has one in the next run.
    for _ in 0..SWEEPS {
        cut::run(lab, &once, cut::How::Killed, &mut report).await?;
        if !report.is_once() || report.statements_never_last().is_empty() {
            break;
        }
    }
    cut::run(lab, &once, cut::How::Dropped, &mut report).await?;
    together::run(lab, &once, &mut report).await?;
    stalled::run(lab, &once, &mut report).await?;
    Ok(report)
}

/// A trial's world when all calls have ended, and what is known of the way there.
struct Outcome<'a> {
    scenario: Scenario,
    once: &'a Once,
    /// At the cut, before any retry.
    at_cut: Option<AtCut>,
    /// Of a call that never succeeded.
    failure: Option<String>,
}

/// What an attempt had done when it was cut off.
pub(super) struct AtCut {
    pub(super) state: State,
    /// Whether it had come to its key.
    pub(super) claimed: bool,
}

impl Outcome<'_> {
    /// Compares the world with what one run leaves, and takes it away.
    async fn judge<DB: LabDatabase, O>(
        self,
        lab: &Experiment<'_, DB, O>,
        world: World<DB, O>,
    ) -> Result<Option<Difference>, LabError> {
        let here = world.state(lab).await?;
        let keys = world.keys().await?;
        world.end().await?;
        if self.failure.is_none() && here.same(&self.once.after) {
            return Ok(None);
        }
        let evidence = Evidence {
            scenario: &self.scenario,
            once: self.once,
            at_cut: self.at_cut.as_ref(),
            failed: self.failure.is_some(),
            here: &here,
            keys: &keys,
        };
        let (diff, cause) = (evidence.diff(), evidence.likely_cause());
        Ok(Some(Difference::new(
            self.scenario,
            self.failure,
            diff,
            cause,
        )))
    }
}

/// Retries a call that ended in an error; the leases of the failed attempt have ended each time.
/// `Some` is the last error of a call that never succeeds.
async fn retry<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    world: &World<DB, O>,
    process: &Process<DB>,
    mut ended: Ended,
) -> Result<Option<String>, LabError> {
    for _ in 0..RETRIES {
        if ended.is_ok() {
            return Ok(None);
        }
        world.end_all_leases().await?;
        ended = lab.attempt(process, &world.outside).until_end().await;
    }
    Ok(ended.err())
}
