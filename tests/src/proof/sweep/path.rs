//! The ways through the runtime that are swept.

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
    /// A point that fails on this way, whatever else is tried on it.
    pub also: Option<&'static str>,
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
}

const fn path(name: &'static str, kind: Kind, how: How, before: Before) -> Path {
    Path {
        name,
        kind,
        how,
        before,
        also: None,
    }
}

const fn failing(also: &'static str, path: Path) -> Path {
    Path {
        also: Some(also),
        ..path
    }
}

/// All of them.
#[rustfmt::skip] // a table
pub const PATHS: &[Path] = &[
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
    path("performs", Kind::Unique, How::Plain, Before::Nothing),
    path("is already there", Kind::Unique, How::Plain, Before::Marked),
    path("performs", Kind::Joined, How::Plain, Before::Nothing),
    path("replays", Kind::Joined, How::Plain, Before::Done),
    path("fails", Kind::Joined, How::Fails, Before::Nothing),
    failing("ledger::claim::after-claim",
        path("claim refused", Kind::Joined, How::Plain, Before::Nothing)),
    path("performs", Kind::Bare, How::Plain, Before::Nothing),
    path("replays", Kind::Bare, How::Plain, Before::Done),
    path("escapes", Kind::Bare, How::RollsBack, Before::Nothing),
    path("performs", Kind::Leased, How::Plain, Before::Nothing),
    path("replays", Kind::Leased, How::Plain, Before::Done),
    path("fails", Kind::Leased, How::Fails, Before::Nothing),
    path("takes over", Kind::Leased, How::Plain, Before::Leftover),
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

impl Path {
    /// `leased takes over`
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{} {}", self.kind.prefix(), self.name)
    }
}
