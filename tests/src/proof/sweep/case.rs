//! One case: a first process that fails at a point, a second one that retries, the checker.

use nix::sys::signal::Signal;

use super::path::{Before, Path};
use super::stage::{Ending, Stage};
use crate::proof::Result;
use crate::proof::checker::{Promise, Violation};
use crate::proof::database::ProofDatabase;
use crate::proof::jobs::{How, Kind};
use crate::proof::pipe::Peer;
use crate::proof::worker::Order;

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The process kills itself.
    Kill,
    /// The process stops itself; its lease ends, and it goes on.
    Stop,
    /// The point returns an error.
    Error,
    /// The future stands still at the point, and is dropped.
    Drop,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kill, Self::Stop, Self::Error, Self::Drop];

    /// Its name, which is also what the point is told.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Error => "error",
            Self::Drop => "drop",
        }
    }
}

/// A point on a path: the how manieth passing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passing {
    /// The point.
    pub point: String,
    /// How often it was passed before.
    pub before: usize,
}

impl Passing {
    /// What can be done at it: where something happens on a path already, nothing else can.
    pub fn actions(&self, path: &Path) -> impl Iterator<Item = Action> {
        let taken = path.also.is_some_and(|(point, _)| point == self.point);
        let tried = !taken && self.point.starts_with(path.near);
        Action::ALL.into_iter().filter(move |_| tried)
    }

    /// `leased takes over/leased::complete::before-commit/stop`
    #[must_use]
    pub fn case(&self, path: &Path, action: Action) -> String {
        let again = match self.before {
            0 => String::new(),
            before => format!(" ({})", before + 1),
        };
        let (path, point) = (path.full_name(), &self.point);
        format!("{path}/{point}{again}/{}", action.name())
    }
}

/// Brings about what a path begins with, for the `n`th job.
async fn prepare<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    path: &Path,
    n: u64,
    first: &mut Peer,
    second: &mut Peer,
) -> Result<()> {
    let key = path.kind.key(n);
    match path.before {
        Before::Nothing => {}
        Before::Done => stage.settle(second, path.kind, n).await?,
        Before::OftenReplayed => {
            for _ in 0..6 {
                stage.settle(first, path.kind, n).await?;
            }
        }
        Before::Leftover | Before::LeftoverMarked => {
            let mut killed = stage.worker(false).await?;
            at(&mut killed, "job::tx::before-begin", "1*return(kill)").await?;
            stage.call(&mut killed, path.kind, n, How::Plain).await?;
            let ending = stage.ending(&mut killed, &key, drop).await?;
            if ending != Ending::Dead || !stage.end_lease(&key).await {
                return Err(format!("the attempt before was {ending:?}").into());
            }
        }
        Before::Marked => {}
        Before::Refused(how) => DB::refuse(&stage.pool, &key, how).await?,
    }
    if matches!(path.before, Before::Marked | Before::LeftoverMarked) {
        DB::mark(&stage.pool, &key).await?;
    }
    if let Some((point, what)) = path.also {
        at(first, point, &format!("1*return({what})")).await?;
    }
    Ok(())
}

async fn at(worker: &mut Peer, point: &str, what: &str) -> Result<()> {
    worker
        .say(&Order::At(point.to_owned(), what.to_owned()))
        .await
}

/// Goes along a path with nothing added, and gives the points that it passes.
pub async fn trace<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    path: &Path,
    second: &mut Peer,
) -> Result<Vec<Passing>> {
    let n = stage.fresh();
    let mut first = stage.worker(false).await?;
    prepare(stage, path, n, &mut first, second).await?;
    first.say(&Order::Trace).await?;
    stage.call(&mut first, path.kind, n, path.how).await?;
    let mut passed: Vec<Passing> = Vec::new();
    let key = path.kind.key(n);
    let ending = stage
        .ending(&mut first, &key, |point| {
            let before = passed.iter().filter(|other| other.point == point).count();
            passed.push(Passing { point, before });
        })
        .await?;
    if !matches!(ending, Ending::Done | Ending::Failed { .. }) {
        return Err(format!("{} ends with {ending:?}", path.full_name()).into());
    }
    stage.settle(second, path.kind, n).await?;
    first.end().await?;
    Ok(passed)
}

/// Plays a case. `None`: the point was not come to this time (a heartbeat fell elsewhere).
pub async fn play<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    path: &Path,
    passing: &Passing,
    action: Action,
    second: &mut Peer,
) -> Result<Option<Vec<Violation>>> {
    let (kind, n) = (path.kind, stage.fresh());
    let key = kind.key(n);
    let mut first = stage
        .worker(action == Action::Stop && DB::ENDS_IDLE)
        .await?;
    send(stage, path, passing, action, n, &mut first, second).await?;
    let mut ending = stage.ending(&mut first, &key, drop).await?;
    let met = match action {
        Action::Kill => ending == Ending::Dead,
        Action::Stop | Action::Drop => ending == Ending::At,
        Action::Error => true,
    };
    if action == Action::Drop && met {
        first.say(&Order::Drop).await?;
        // A point of what the runtime does in the background holds up no call.
        ending = stage.ending(&mut first, &key, drop).await?;
    }
    if action == Action::Stop && met {
        ending = overslept(stage, kind, n, &mut first, second).await?;
    }
    let found = conclude(stage, path, n, first, second, ending).await?;
    Ok(met.then_some(found))
}

/// Sends the first process along a path, to fail at a point.
pub async fn send<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    path: &Path,
    passing: &Passing,
    action: Action,
    n: u64,
    first: &mut Peer,
    second: &mut Peer,
) -> Result<()> {
    prepare(stage, path, n, first, second).await?;
    let times = match passing.before {
        0 => format!("1*return({})", action.name()),
        before => format!("{before}*off->1*return({})", action.name()),
    };
    at(first, &passing.point, &times).await?;
    stage.call(first, path.kind, n, path.how).await
}

/// The second process retries until it is answered; then everything is looked at.
pub async fn conclude<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    path: &Path,
    n: u64,
    mut first: Peer,
    second: &mut Peer,
    ending: Ending,
) -> Result<Vec<Violation>> {
    let key = path.kind.key(n);
    let mut found = Vec::new();
    if let Ending::Failed {
        retryable: false,
        in_doubt: false,
        error,
    } = &ending
        && !(path.how == How::LeavesNoMark)
    {
        found.push(Violation {
            promise: Promise::Answered,
            key: key.clone(),
            how: format!("not retryable: {error}"),
        });
    }
    stage.end_lease(&key).await;
    stage.settle(second, path.kind, n).await?;
    if ending != Ending::Dead {
        found.extend(stage.probe(&mut first, &key).await?);
        found.extend(stage.check().await?);
        first.end().await?;
    } else {
        found.extend(stage.check().await?);
    }
    Ok(found)
}

/// The first process stands still past its lease; the second one retries; the first one goes on.
async fn overslept<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    kind: Kind,
    n: u64,
    first: &mut Peer,
    second: &mut Peer,
) -> Result<Ending> {
    let key = kind.key(n);
    first.has_stopped().await?;
    let blocked = !stage.end_lease(&key).await;
    if blocked && !DB::ENDS_IDLE {
        // It holds the one lock that there is: the retry waits until it goes on.
        stage.call(second, kind, n, How::Plain).await?;
        first.signal(Signal::SIGCONT);
        stage.ending(second, &key, drop).await?;
    } else {
        stage.settle(second, kind, n).await?;
        first.signal(Signal::SIGCONT);
    }
    stage.ending(first, &key, drop).await
}
