//! Many callers of one fresh key at once: eight processes, eight calls in each.

use super::stage::{Ending, Stage};
use crate::proof::Result;
use crate::proof::checker::{Promise, Violation};
use crate::proof::database::ProofDatabase;
use crate::proof::jobs::{How, Kind};

/// How many processes, and how many calls in each.
const CROWD: usize = 8;

/// The jobs that a crowd calls.
pub const KINDS: [Kind; 4] = [Kind::Transactional, Kind::Joined, Kind::Leased, Kind::Steps];

/// Has a crowd call one key: one runs it, the others get its answer, or are told to come again; and
/// nobody waits for ever.
pub async fn crowd<DB: ProofDatabase>(kind: Kind) -> Result<Vec<Violation>> {
    let mut stage = Stage::<DB>::set(None).await?;
    let n = stage.fresh();
    let key = kind.key(n);
    let mut workers = Vec::new();
    for _ in 0..CROWD {
        workers.push(stage.worker(false).await?);
    }
    for _ in 0..CROWD {
        for worker in &mut workers {
            stage.call(worker, kind, n, How::Plain).await?;
        }
    }
    let mut found = Vec::new();
    for worker in &mut workers {
        for _ in 0..CROWD {
            match stage.ending(worker, &key, drop).await? {
                Ending::Done
                | Ending::Failed {
                    retryable: true, ..
                } => {}
                other => found.push(Violation {
                    promise: Promise::Answered,
                    key: key.clone(),
                    how: format!("{other:?}"),
                }),
            }
        }
        found.extend(stage.probe(worker, &key).await?);
    }
    stage.settle(&mut workers[0], kind, n).await?;
    found.extend(stage.check().await?);
    for worker in workers {
        worker.end().await?;
    }
    stage.strike().await?;
    Ok(found)
}
