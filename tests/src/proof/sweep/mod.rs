//! The sweep: every point of the runtime, on every way that passes it, with every way to fail there.
//!
//! For each [path](path::paths) the points that it passes are told by a run of it; then each passing
//! is a case for each [action](case::Action), with a name that says what it was:
//! `sqlite/leased takes over/leased::complete::before-commit/stop`. The case is deterministic:
//! processes tell where they are, and nothing waits for time to pass but leases that are renewed.
//! A [crowd](crowd::crowd) of callers of one key comes before them.

pub mod case;
pub mod crowd;
pub mod path;
#[cfg(test)]
mod points;
pub mod stage;

use std::collections::BTreeSet;

use case::{play, trace};
use path::paths;
use stage::Stage;

use super::Result;
use super::checker::Violation;
use super::database::ProofDatabase;

/// What a sweep came to.
#[derive(Debug, Default)]
pub struct Swept {
    /// Cases played.
    pub cases: usize,
    /// Cases whose point was not come to.
    pub missed: Vec<String>,
    /// Points that were passed on some path.
    pub points: BTreeSet<String>,
    /// What was broken, by the case.
    pub broken: Vec<(String, Violation)>,
}

/// Sweeps a database; of the cases, one in `one_in` by the seed, or those whose name has `only` in it.
pub async fn sweep<DB: ProofDatabase>(one_in: u64, seed: u64, only: Option<&str>) -> Result<Swept> {
    let mut swept = Swept::default();
    for kind in crowd::KINDS {
        let name = format!("{}/{} is called by a crowd", DB::CALLED, kind.prefix());
        if only.is_none_or(|only| name.contains(only)) {
            swept.cases += 1;
            let found = crowd::crowd::<DB>(kind).await;
            for violation in found.map_err(|error| format!("{name}: {error}"))? {
                swept.broken.push((name.clone(), violation));
            }
        }
    }
    let mut random = fastrand::Rng::with_seed(seed);
    for path in paths::<DB>() {
        let name = format!("{}/{}", DB::CALLED, path.full_name());
        if only.is_some_and(|only| !only.starts_with(&name) && !name.contains(only)) {
            continue;
        }
        let mut stage = Stage::<DB>::set(None).await?;
        let mut second = stage.worker(false).await?;
        let passings = trace(&mut stage, path, &mut second).await?;
        swept
            .points
            .extend(passings.iter().map(|passing| passing.point.clone()));
        for violation in stage.check().await? {
            swept.broken.push((name.clone(), violation));
        }
        for passing in &passings {
            for action in passing.actions(path) {
                let name = format!("{}/{}", DB::CALLED, passing.case(path, action));
                let chosen = match only {
                    Some(only) => name.contains(only),
                    None => random.u64(0..one_in) == 0,
                };
                if !chosen {
                    continue;
                }
                let played = play(&mut stage, path, passing, action, &mut second).await;
                swept.cases += 1;
                match played.map_err(|error| format!("{name}: {error}"))? {
                    None => swept.missed.push(name),
                    Some(found) if found.is_empty() => {}
                    Some(found) => {
                        let named = found.into_iter().map(|violation| (name.clone(), violation));
                        swept.broken.extend(named);
                        // A broken promise would be found again by every case after it.
                        second.end().await?;
                        stage.strike().await?;
                        stage = Stage::set(None).await?;
                        second = stage.worker(false).await?;
                    }
                }
            }
        }
        second.end().await?;
        stage.strike().await?;
    }
    Ok(swept)
}

/// The names of all cases of a database, without its own: each path is gone along once to know them.
pub async fn list<DB: ProofDatabase>() -> Result<Vec<String>> {
    let crowds = crowd::KINDS.map(|kind| format!("{} is called by a crowd", kind.prefix()));
    let mut names = crowds.to_vec();
    let mut stage = Stage::<DB>::set(None).await?;
    let mut second = stage.worker(false).await?;
    for path in paths::<DB>() {
        for passing in &trace(&mut stage, path, &mut second).await? {
            let actions = passing.actions(path);
            names.extend(actions.map(|action| passing.case(path, action)));
        }
    }
    second.end().await?;
    stage.strike().await?;
    Ok(names)
}

/// The points that no path of a full sweep has passed.
#[must_use]
pub fn not_passed(points: &BTreeSet<String>) -> Vec<String> {
    idempotent_runtime::failpoint::PLACES
        .iter()
        .flat_map(|(place, what)| ["before", "after"].map(|when| format!("{place}::{when}-{what}")))
        .filter(|point| !points.contains(point))
        .collect()
}
