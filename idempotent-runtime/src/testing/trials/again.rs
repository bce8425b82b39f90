//! Called once more after it is done, by another process: nothing may change.

use super::super::database::LabDatabase;
use super::super::error::LabError;
use super::super::lab::Experiment;
use super::super::report::Report;
use super::super::scenario::Scenario;
use super::super::world::World;
use super::{Once, Outcome, retry};

pub(super) async fn run<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
    once: &Once,
    world: World<DB, O>,
    report: &mut Report,
) -> Result<(), LabError> {
    let process = world.process().await?;
    let ended = lab.attempt(&process, &world.outside).until_end().await;
    let failure = retry(lab, &world, &process, ended).await?;
    process.end().await?;
    let outcome = Outcome {
        scenario: Scenario::Again,
        once,
        at_cut: None,
        failure,
    };
    report.tried_again();
    report.found(outcome.judge(lab, world).await?);
    Ok(())
}
