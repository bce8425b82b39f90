//! From what differs, and what was known at the cut, to the likely mistake.

use std::fmt;

use super::diff::{self, TableDiff};
use super::scenario::Scenario;
use super::trials::{AtCut, Once};
use super::world::State;

/// The likely mistake behind a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Something is done before the key is claimed, or beside the call of the job: every call does it
    /// again.
    EffectBeforeClaim,
    /// A system outside was called without `job.key()`: it cannot tell a retry from a new request.
    CallWithoutKey,
    /// The job writes past `job.tx()`: the write is committed while the key is not done.
    WriteOutsideTx,
    /// Nothing in the database forbids a second row.
    MissingUnique,
    /// The key of the same work is another one at each call.
    KeyChanges {
        /// Keys that one run does not leave.
        keys: Vec<String>,
    },
    /// No key is claimed at all.
    NotClaimed,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EffectBeforeClaim => f.write_str(
                "an effect before the claim: it happens outside of what the key protects, so every \
                 call does it again. Move it into the body of the job, where it runs once the key is \
                 claimed",
            ),
            Self::CallWithoutKey => f.write_str(
                "an outside call without `job.key()`: the effect was made, the attempt ended before \
                 it was recorded, and the retry made it once more. Hand `job.key()` (or a step's key) \
                 to the system outside as its idempotency key",
            ),
            Self::WriteOutsideTx => f.write_str(
                "a write outside of `job.tx()`: it was committed while the key was not done, and the \
                 retry found it there. Write on the connection of `job.tx()`, or in a `job.tx_step(…)`, \
                 and not through `job.pool()`",
            ),
            Self::MissingUnique => f.write_str(
                "a missing unique constraint: both calls looked, found nothing, and wrote, and no key \
                 was claimed. Give the table a unique constraint and the job `unique = table(columns)`; \
                 or make it an `#[idempotent(key = …)]` job",
            ),
            Self::KeyChanges { keys } => {
                let keys: Vec<String> = keys.iter().take(3).map(|key| format!("`{key}`")).collect();
                write!(
                    f,
                    "a key that is not the same on every attempt: the ledger also has {}. Make the key \
                     from what the work is about (the order), not from the call (a delivery, a time, a \
                     random id)",
                    keys.join(", ")
                )
            }
            Self::NotClaimed => f.write_str(
                "no key is claimed: nothing tells a retry from the first call. Make it an \
                 `#[idempotent(key = …)]` job, and hand `job.key()` to the systems outside",
            ),
        }
    }
}

/// What is known when a trial has left a difference.
pub(super) struct Evidence<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) once: &'a Once,
    pub(super) at_cut: Option<&'a AtCut>,
    /// Whether a call never succeeded.
    pub(super) failed: bool,
    pub(super) here: &'a State,
    /// The ledger's keys.
    pub(super) keys: &'a [String],
}

impl Evidence<'_> {
    /// What differs, for a person to read.
    pub(super) fn diff(&self) -> String {
        let tables = self.tables();
        let tables = tables.iter().map(ToString::to_string);
        let outside = diff::outside(&*self.once.after.seen, &*self.here.seen);
        let parts: Vec<String> = tables.chain(outside).collect();
        parts.join("\n")
    }

    fn tables(&self) -> Vec<TableDiff> {
        diff::tables(&self.once.after.tables, &self.here.tables)
    }

    /// The mistake that explains it, if one of the known ones does.
    pub(super) fn likely_cause(&self) -> Option<Cause> {
        if self.keys.len() > self.once.keys.len() {
            let new = self.keys.iter().filter(|key| !self.once.keys.contains(key));
            return Some(Cause::KeyChanges {
                keys: new.cloned().collect(),
            });
        }
        let outside = !self.here.seen.same(&*self.once.after.seen);
        match self.at_cut {
            Some(cut) => self.by_what_was_done(cut, outside),
            None => self.by_what_came_twice(outside),
        }
    }

    /// What an unfinished attempt had left behind is what the retry came upon.
    fn by_what_was_done(&self, cut: &AtCut, outside: bool) -> Option<Cause> {
        let before = &self.once.before;
        let acted = !cut.state.seen.same(&*before.seen);
        let wrote = cut.state.tables != before.tables;
        let cause = match (outside && acted, wrote) {
            (true, _) => Cause::CallWithoutKey,
            (false, true) => Cause::WriteOutsideTx,
            // A cut that nothing shows at, and a call that goes on after its lease is lost.
            (false, false) if matches!(self.scenario, Scenario::Stalled(_)) => match outside {
                true => Cause::CallWithoutKey,
                false => Cause::WriteOutsideTx,
            },
            (false, false) => return None,
        };
        Some(if self.once.keys.is_empty() {
            Cause::NotClaimed
        } else if cut.claimed {
            cause
        } else {
            Cause::EffectBeforeClaim
        })
    }

    /// Every call ended by itself, and something is there twice.
    fn by_what_came_twice(&self, outside: bool) -> Option<Cause> {
        let extra = self.tables().iter().any(TableDiff::has_extra);
        match (self.once.keys.is_empty(), extra) {
            (true, true) if !outside => Some(Cause::MissingUnique),
            (true, _) => Some(Cause::NotClaimed),
            (false, _) if self.failed => None,
            (false, _) => Some(Cause::EffectBeforeClaim),
        }
    }
}
