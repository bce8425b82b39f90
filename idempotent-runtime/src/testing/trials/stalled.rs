//! An attempt that stands still until its lease is over, and goes on when another one is done: a
//! process that was stopped, or starved.

use std::time::Duration;

use tokio::time::timeout;

use super::super::database::LabDatabase;
use super::super::error::LabError;
use super::super::lab::Experiment;
use super::super::report::Report;
use super::super::scenario::{CutPoint, Scenario};
use super::super::world::World;
use super::{AtCut, CALM, Once, Outcome, retry};

/// How long the second attempt may wait for locks that the first one holds, before the first one
/// goes on.
const BLOCKED: Duration = Duration::from_millis(300);

pub(super) async fn run<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    once: &Once,
    report: &mut Report,
) -> Result<(), LabError> {
    let (mut n, mut ended_before) = (0, 0);
    while ended_before < CALM {
        n += 1;
        let world = World::fresh(lab).await?;
        match at(lab, &world, once, n).await? {
            Stood::Ended => ended_before += 1,
            Stood::NoLease => ended_before = 0,
            Stood::TakenOver(outcome) => {
                ended_before = 0;
                report.stalled();
                if report.found(outcome.judge(lab, world).await?) {
                    break;
                }
                continue;
            }
        }
        world.end().await?;
    }
    Ok(())
}

enum Stood<'a> {
    /// It ended before its `n`-th wait.
    Ended,
    /// It held no lease that could end there, or its write transaction keeps others out.
    NoLease,
    TakenOver(Outcome<'a>),
}

async fn at<'a, DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    world: &World<DB, O>,
    once: &'a Once,
    n: usize,
) -> Result<Stood<'a>, LabError> {
    let (one, other) = (world.process().await?, world.process().await?);
    let mut first = lab.attempt(&one, &world.outside);
    let stood = if let Some(ended) = first.until_wait(n).await {
        ended.map_err(LabError::Job)?;
        Stood::Ended
    } else if world.end_leases().await?.unwrap_or(0) == 0 {
        Stood::NoLease
    } else {
        let point = CutPoint::new(n, one.statements.last());
        let at_cut = AtCut {
            state: world.state(lab).await?,
            claimed: one.statements.claimed(),
        };
        let mut second = lab.attempt(&other, &world.outside);
        let done = timeout(BLOCKED, second.until_end()).await;
        let (first, second) = match done {
            Ok(second) => (first.until_end().await, second),
            Err(_) => tokio::join!(first.until_end(), second.until_end()),
        };
        let second = retry(lab, world, &other, second).await?;
        let first = retry(lab, world, &one, first).await?;
        Stood::TakenOver(Outcome {
            scenario: Scenario::Stalled(point),
            once,
            at_cut: Some(at_cut),
            failure: second.or(first),
        })
    };
    drop(first);
    one.end().await?;
    other.end().await?;
    Ok(stood)
}
