//! One undisturbed run: what every other trial is compared with.

use super::super::database::LabDatabase;
use super::super::diff;
use super::super::error::LabError;
use super::super::lab::Experiment;
use super::super::world::{State, World};

/// What one run leaves.
pub(in super::super) struct Once {
    pub(in super::super) before: State,
    pub(in super::super) after: State,
    /// The ledger's keys afterwards.
    pub(in super::super) keys: Vec<String>,
    pub(in super::super) statements: Vec<String>,
}

/// Runs the job in two worlds, and gives the second one too, in which it is done.
pub(super) async fn run<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
) -> Result<(Once, World<DB, O>), LabError> {
    let (once, world) = alone(lab).await?;
    world.end().await?;
    if once.before.same(&once.after) {
        return Err(LabError::NoEffect);
    }
    let (second, world) = alone(lab).await?;
    if let Some(difference) = differences(&once.before, &second.before) {
        return Err(LabError::NotReproducible(format!(
            "as the world is made, before the job:\n{difference}"
        )));
    }
    if let Some(difference) = differences(&once.after, &second.after) {
        return Err(LabError::NotReproducible(difference));
    }
    Ok((once, world))
}

async fn alone<DB: LabDatabase, O>(
    lab: &Experiment<'_, DB, O>,
) -> Result<(Once, World<DB, O>), LabError> {
    let world = World::fresh(lab).await?;
    let before = world.state(lab).await?;
    let process = world.process().await?;
    let ended = lab.attempt(&process, &world.outside).until_end().await;
    let statements = process.statements.clone();
    process.end().await?;
    ended.map_err(LabError::Job)?;
    let after = world.state(lab).await?;
    let seen_again = lab.seen(&world.outside);
    if let Some(difference) = diff::outside_twice(&*after.seen, &*seen_again) {
        return Err(LabError::ObserveChanges(difference));
    }
    let once = Once {
        before,
        after,
        keys: world.keys().await?,
        statements: statements.all(),
    };
    Ok((once, world))
}

/// Both runs, in the report's own words; the columns that would have to be ignored come first.
fn differences(one: &State, other: &State) -> Option<String> {
    let tables = diff::tables(&one.tables, &other.tables);
    let columns: Vec<String> = tables
        .iter()
        .flat_map(diff::TableDiff::changed_columns)
        .map(|column| format!("{column:?}"))
        .collect();
    let outside = diff::outside(&*one.seen, &*other.seen);
    let tables = tables.iter().map(ToString::to_string);
    let mut parts: Vec<String> = tables.chain(outside).collect();
    if !columns.is_empty() {
        parts.insert(0, format!("these columns differ: {}", columns.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}
