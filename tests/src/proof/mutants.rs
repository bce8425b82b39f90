//! The protocol without one of its rules: the checker must notice, by the name of a promise.
//!
//! All of them are switches of one build. Each has a scene that breaks a promise without the rule; the
//! same scene with the rule in force must break none. On SQLite.

use nix::sys::signal::Signal;
use sqlx::Sqlite;

use super::Result;
use super::checker::{Promise, Violation};
use super::jobs::{How, Kind};
use super::pipe::Peer;
use super::sweep::stage::{Ending, Stage};
use super::worker::Order;

/// A rule that can be left out, and the promise that is broken then.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// The rule.
    pub without: &'static str,
    /// The promise that must be seen broken.
    pub breaks: Promise,
    scene: Scene,
}

#[derive(Debug, Clone, Copy)]
enum Scene {
    Overslept,
    ForgottenMeanwhile,
    Escape,
    CalledTwice,
    NoMark,
    KilledAfterTheCharge,
    HeldElsewhere,
}

/// All of them.
pub const MUTANTS: &[Mutant] = &[
    mutant("the fence", Promise::OneEffect, Scene::Overslept),
    mutant(
        "the owner check",
        Promise::NewestCompletes,
        Scene::ForgottenMeanwhile,
    ),
    mutant("the escape check", Promise::DoneIffEffect, Scene::Escape),
    mutant("the second SELECT", Promise::Answered, Scene::CalledTwice),
    mutant(
        "the guard's second question",
        Promise::DoneIffEffect,
        Scene::NoMark,
    ),
    mutant(
        "the key in the outside call",
        Promise::OneCharge,
        Scene::KilledAfterTheCharge,
    ),
    mutant(
        "the gate's database half",
        Promise::OneAtATime,
        Scene::HeldElsewhere,
    ),
];

const fn mutant(without: &'static str, breaks: Promise, scene: Scene) -> Mutant {
    Mutant {
        without,
        breaks,
        scene,
    }
}

/// What became of a mutant.
#[derive(Debug)]
pub struct Tried {
    /// Which.
    pub mutant: Mutant,
    /// What was broken without the rule.
    pub without: Vec<Violation>,
    /// What was broken with it: nothing, or the scene shows nothing.
    pub with: Vec<Violation>,
}

impl Tried {
    /// Whether it was seen, by the promise that it breaks, and the rule's presence is not.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        let breaks = self.mutant.breaks;
        self.with.is_empty() && self.without.iter().any(|found| found.promise == breaks)
    }
}

/// Tries every mutant.
pub async fn try_all() -> Result<Vec<Tried>> {
    let mut tried = Vec::new();
    for &mutant in MUTANTS {
        let with = play(mutant.scene, None).await?;
        let mut without = Vec::new();
        // Scenes with a process that stands still may be overtaken by its lease on a slow machine.
        for _ in 0..3 {
            without.extend(play(mutant.scene, Some(mutant.without)).await?);
            if without.iter().any(|found| found.promise == mutant.breaks) {
                break;
            }
        }
        tried.push(Tried {
            mutant,
            without,
            with,
        });
    }
    Ok(tried)
}

struct Actors {
    stage: Stage<Sqlite>,
    first: Peer,
    second: Peer,
}

async fn play(scene: Scene, without: Option<&'static str>) -> Result<Vec<Violation>> {
    let stage = Stage::set(without).await?;
    let (first, second) = (stage.worker(false).await?, stage.worker(false).await?);
    let mut actors = Actors {
        stage,
        first,
        second,
    };
    let n = actors.stage.fresh();
    match scene {
        Scene::Overslept => {
            actors.stop_before_completion(n).await?;
            actors.retry(Kind::Leased, n).await?;
            actors.wake(n).await?;
        }
        Scene::ForgottenMeanwhile => actors.forgotten_meanwhile(n).await?,
        Scene::Escape => actors.once(Kind::Transactional, n, How::RollsBack).await?,
        Scene::CalledTwice => {
            for kind in [Kind::Transactional, Kind::Leased] {
                actors.once(kind, n, How::Plain).await?;
            }
        }
        Scene::NoMark => actors.once(Kind::Guarded, n, How::LeavesNoMark).await?,
        Scene::KilledAfterTheCharge => {
            actors.at("job::tx::before-begin", "kill").await?;
            actors.once(Kind::Leased, n, How::Plain).await?;
        }
        Scene::HeldElsewhere => actors.held_elsewhere(n).await?,
    }
    let found = actors.stage.check().await?;
    actors.first.kill().await?;
    actors.second.end().await?;
    actors.stage.strike().await?;
    Ok(found)
}

impl Actors {
    async fn at(&mut self, point: &str, what: &str) -> Result<()> {
        let what = format!("1*return({what})");
        self.first.say(&Order::At(point.to_owned(), what)).await
    }

    async fn begin(&mut self, kind: Kind, n: u64, how: How) -> Result<Ending> {
        self.stage.call(&mut self.first, kind, n, how).await?;
        self.stage.ending(&mut self.first, &kind.key(n), drop).await
    }

    async fn retry(&mut self, kind: Kind, n: u64) -> Result<()> {
        self.stage.settle(&mut self.second, kind, n).await
    }

    /// A call in the first process, and a retry in the second.
    async fn once(&mut self, kind: Kind, n: u64, how: How) -> Result<()> {
        self.begin(kind, n, how).await?;
        self.stage.end_lease(&kind.key(n)).await;
        self.retry(kind, n).await
    }

    /// The first process stands still when it has charged, and its lease ends.
    async fn stop_before_completion(&mut self, n: u64) -> Result<()> {
        self.at("job::tx::before-begin", "stop").await?;
        self.begin(Kind::Leased, n, How::Plain).await?;
        self.first.has_stopped().await?;
        self.stage.end_lease(&Kind::Leased.key(n)).await;
        Ok(())
    }

    async fn wake(&mut self, n: u64) -> Result<()> {
        self.first.signal(Signal::SIGCONT);
        let key = Kind::Leased.key(n);
        self.stage.ending(&mut self.first, &key, drop).await?;
        Ok(())
    }

    /// While the first process stands still, a person has the key run again, so that fences begin
    /// anew; it wakes while the second one is at work.
    async fn forgotten_meanwhile(&mut self, n: u64) -> Result<()> {
        let key = Kind::Leased.key(n);
        self.stop_before_completion(n).await?;
        self.stage.decide(&key).await?;
        let (stage, second) = (&mut self.stage, &mut self.second);
        stage.call(second, Kind::Leased, n, How::Waits).await?;
        stage.ending(second, &key, drop).await?;
        self.wake(n).await?;
        self.second.say(&Order::GoOn).await?;
        self.stage.ending(&mut self.second, &key, drop).await?;
        self.retry(Kind::Leased, n).await
    }

    /// The first process is at work, and its lease holds.
    async fn held_elsewhere(&mut self, n: u64) -> Result<()> {
        let key = Kind::Leased.key(n);
        self.begin(Kind::Leased, n, How::Waits).await?;
        let (stage, second) = (&mut self.stage, &mut self.second);
        stage.call(second, Kind::Leased, n, How::Plain).await?;
        stage.ending(second, &key, drop).await?;
        self.first.say(&Order::GoOn).await?;
        self.stage.ending(&mut self.first, &key, drop).await?;
        self.retry(Kind::Leased, n).await
    }
}
