//! Cut off at every wait, and retried until it is done.

use super::super::database::LabDatabase;
use super::super::error::LabError;
use super::super::lab::Experiment;
use super::super::report::Report;
use super::super::scenario::{CutPoint, Scenario};
use super::super::world::World;
use super::{AtCut, CALM, Once, Outcome, retry};

/// How the attempt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Its process is killed: it releases nothing, its connections end, and another process retries
    /// when its lease is over.
    Killed,
    /// Its future is dropped, as by a timeout, and the call is made again on the same store.
    Dropped,
}

pub(super) async fn run<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    once: &Once,
    how: How,
    report: &mut Report,
) -> Result<(), LabError> {
    let mut ended_before = 0;
    let mut n = 0;
    while ended_before < CALM {
        n += 1;
        let world = World::fresh(lab).await?;
        let Some(cut) = at(lab, &world, n, how).await? else {
            ended_before += 1;
            world.end().await?;
            continue;
        };
        ended_before = 0;
        if how == How::Killed {
            report.killed(&cut.point);
        } else {
            report.dropped();
        }
        let outcome = Outcome {
            scenario: match how {
                How::Killed => Scenario::Killed(cut.point),
                How::Dropped => Scenario::Dropped(cut.point),
            },
            once,
            at_cut: Some(cut.at_cut),
            failure: cut.failure,
        };
        if report.found(outcome.judge(lab, world).await?) {
            break;
        }
    }
    Ok(())
}

struct Cut {
    point: CutPoint,
    at_cut: AtCut,
    failure: Option<String>,
}

/// Cuts a first attempt at its `n`-th wait, and retries; `None` where it ended before.
async fn at<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    world: &World<DB, O>,
    n: usize,
    how: How,
) -> Result<Option<Cut>, LabError> {
    let process = world.process().await?;
    let statements = process.statements.clone();
    let mut attempt = lab.attempt(&process, &world.outside);
    if let Some(ended) = attempt.until_wait(n).await {
        drop(attempt);
        process.end().await?;
        return ended.map(|()| None).map_err(LabError::Job);
    }
    if how == How::Killed {
        process.crash();
    }
    drop(attempt);
    let next = match how {
        // What it had sent is done when its connections are closed: only then is the last
        // statement known.
        How::Killed => {
            process.end().await?;
            world.process().await?
        }
        How::Dropped => process,
    };
    let point = CutPoint::new(n, statements.last());
    let at_cut = AtCut {
        state: world.state(lab).await?,
        claimed: statements.claimed(),
    };
    world.end_all_leases().await?;
    let ended = lab.attempt(&next, &world.outside).until_end().await;
    let failure = retry(lab, world, &next, ended).await?;
    next.end().await?;
    Ok(Some(Cut {
        point,
        at_cut,
        failure,
    }))
}
