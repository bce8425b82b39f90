//! The ways through the runtime that are swept.

use crate::proof::database::{ProofDatabase, Refusal};
use crate::proof::jobs::{How, Kind};

/// One way through the runtime: which job, what its body does, and what was there before.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Its name, after the kind of job.
    pub name: &'static str,
    /// Which job.
    pub kind: Kind,
    /// What the body does besides its work.
    pub how: How,
    /// What was there before.
    pub before: Before,
    /// A point of this way, and what happens there, whatever else is tried on it.
    pub also: Option<(&'static str, &'static str)>,
    /// What the points begin with that are tried: the others are as on another way.
    pub near: &'static str,
}

/// What a call finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// The key is done.
    Done,
    /// The key is done, and this process has had it replayed often.
    OftenReplayed,
    /// An attempt was killed before its completion, and its lease has ended.
    Leftover,
    /// The record says that the work is done, without a key.
    Marked,
    /// Both of these.
    LeftoverMarked,
    /// Other claims, which have the first one of this key refused.
    Refused(Refusal),
}

const fn path(name: &'static str, kind: Kind, how: How, before: Before) -> Path {
    Path {
        name,
        kind,
        how,
        before,
        also: None,
        near: "",
    }
}

const fn failing(point: &'static str, path: Path) -> Path {
    Path {
        also: Some((point, "error")),
        ..path
    }
}

const fn late(point: &'static str, near: &'static str, path: Path) -> Path {
    Path {
        also: Some((point, "late")),
        near,
        ..path
    }
}

/// All of them.
#[rustfmt::skip] // a table
const PATHS: &[Path] = &[
    path("performs", Kind::Transactional, How::Plain, Before::Nothing),
    path("replays", Kind::Transactional, How::Plain, Before::Done),
    path("reads first", Kind::Transactional, How::Plain, Before::OftenReplayed),
    path("fails", Kind::Transactional, How::Fails, Before::Nothing),
    path("escapes", Kind::Transactional, How::RollsBack, Before::Nothing),
    failing("transactional::complete::after-commit",
        path("commit unknown", Kind::Transactional, How::Plain, Before::Nothing)),
    failing("transactional::complete::before-commit",
        path("commit refused", Kind::Transactional, How::Plain, Before::Nothing)),
    failing("transactional::complete::before-finish",
        path("completion refused", Kind::Transactional, How::Plain, Before::Nothing)),
    failing("ledger::claim::after-claim",
        path("claim refused", Kind::Transactional, How::Plain, Before::Nothing)),
    path("gives way", Kind::Transactional, How::Plain, Before::Refused(Refusal::GivesWay)),
    path("finds nobody", Kind::Transactional, How::Plain, Before::Refused(Refusal::Gone)),
    path("performs", Kind::Unique, How::Plain, Before::Nothing),
    path("is already there", Kind::Unique, How::Plain, Before::Marked),
    path("performs", Kind::Joined, How::Plain, Before::Nothing),
    path("replays", Kind::Joined, How::Plain, Before::Done),
    path("fails", Kind::Joined, How::Fails, Before::Nothing),
    failing("ledger::claim::after-claim",
        path("claim refused", Kind::Joined, How::Plain, Before::Nothing)),
    path("finds nobody", Kind::Joined, How::Plain, Before::Refused(Refusal::Gone)),
    path("performs", Kind::Bare, How::Plain, Before::Nothing),
    path("replays", Kind::Bare, How::Plain, Before::Done),
    path("escapes", Kind::Bare, How::RollsBack, Before::Nothing),
    path("escapes and begins", Kind::Bare, How::RollsBackAndBegins, Before::Nothing),
    path("performs", Kind::Leased, How::Plain, Before::Nothing),
    path("replays", Kind::Leased, How::Plain, Before::Done),
    path("fails", Kind::Leased, How::Fails, Before::Nothing),
    path("takes over", Kind::Leased, How::Plain, Before::Leftover),
    late("leased::begin::after-lease", "leased::begin::",
        path("claims late", Kind::Leased, How::Plain, Before::Nothing)),
    path("renews", Kind::Leased, How::AwaitsRenewal, Before::Nothing),
    path("is overrun", Kind::Leased, How::IsOverrun, Before::Nothing),
    path("escapes", Kind::Leased, How::RollsBack, Before::Nothing),
    failing("leased::complete::after-commit",
        path("commit unknown", Kind::Leased, How::Plain, Before::Nothing)),
    failing("leased::complete::before-commit",
        path("commit refused", Kind::Leased, How::Plain, Before::Nothing)),
    path("performs", Kind::Guarded, How::Plain, Before::Nothing),
    path("leaves no mark", Kind::Guarded, How::LeavesNoMark, Before::Nothing),
    path("skips", Kind::Guarded, How::Plain, Before::Marked),
    path("takes over and skips", Kind::Guarded, How::Plain, Before::LeftoverMarked),
    path("performs", Kind::Steps, How::Plain, Before::Nothing),
    path("goes on", Kind::Steps, How::Plain, Before::Leftover),
    path("fails in a step", Kind::Steps, How::FailsInStep, Before::Nothing),
];

/// Those of them that there are on a database.
pub fn paths<DB: ProofDatabase>() -> impl Iterator<Item = &'static Path> {
    let refuses = !DB::REFUSALS.is_empty();
    PATHS
        .iter()
        .filter(move |path| refuses || !matches!(path.before, Before::Refused(_)))
}

impl Path {
    /// `leased takes over`
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{} {}", self.kind.prefix(), self.name)
    }
}
