//! Twice at once: the second call begins when the first one comes to its `n`-th wait.

use super::super::database::LabDatabase;
use super::super::error::LabError;
use super::super::lab::Experiment;
use super::super::report::Report;
use super::super::scenario::Scenario;
use super::super::world::{Process, World};
use super::{CALM, Once, Outcome, retry};

/// In one process from the start, and in two from every wait of the first call on.
pub(super) async fn run<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    once: &Once,
    report: &mut Report,
) -> Result<(), LabError> {
    let world = World::fresh(lab).await?;
    let process = world.process().await?;
    let failure = both(lab, &world, &process, &process, 0).await?;
    process.end().await?;
    if found(lab, once, world, 0, true, failure.flatten(), report).await? {
        return Ok(());
    }
    let (mut apart, mut ended_before) = (0, 0);
    while ended_before < CALM {
        let world = World::fresh(lab).await?;
        let (one, other) = (world.process().await?, world.process().await?);
        let failure = both(lab, &world, &one, &other, apart).await?;
        one.end().await?;
        other.end().await?;
        match failure {
            None => {
                ended_before += 1;
                world.end().await?;
            }
            Some(failure) => {
                ended_before = 0;
                if found(lab, once, world, apart, false, failure, report).await? {
                    break;
                }
            }
        }
        apart += 1;
    }
    Ok(())
}

/// Runs both calls to their ends, and gives the error of one that never succeeds. `None` where the
/// first one ended before the second began.
async fn both<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    world: &World<DB, O>,
    one: &Process<DB>,
    other: &Process<DB>,
    apart: usize,
) -> Result<Option<Option<String>>, LabError> {
    let mut first = lab.attempt(one, &world.outside);
    if let Some(ended) = first.until_wait(apart).await {
        return ended.map(|()| None).map_err(LabError::Job);
    }
    let mut second = lab.attempt(other, &world.outside);
    let (first, second) = tokio::join!(first.until_end(), second.until_end());
    let first = retry(lab, world, one, first).await?;
    let second = retry(lab, world, other, second).await?;
    Ok(Some(first.or(second)))
}

async fn found<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    once: &Once,
    world: World<DB, O>,
    apart: usize,
    one_store: bool,
    failure: Option<String>,
    report: &mut Report,
) -> Result<bool, LabError> {
    report.together();
    let outcome = Outcome {
        scenario: Scenario::Together { apart, one_store },
        once,
        at_cut: None,
        failure,
    };
    Ok(report.found(outcome.judge(lab, world).await?))
}
