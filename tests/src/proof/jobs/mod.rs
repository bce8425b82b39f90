//! The jobs that the proof is shown on, the same for each database.
//!
//! None but `guarded` has a guard, and no constraint stands behind the ledger: a second effect would
//! be seen, not refused.

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::gateway::Gateway;
use super::pipe::say;
use super::worker::Event;

mod bodies;

pub use bodies::{mysql, postgres, sqlite};

/// Which job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Effects in the database only.
    Transactional,
    /// The same, in a transaction of the caller's.
    Joined,
    /// The same, on a connection of the caller's that is in no transaction.
    Bare,
    /// Transactional, with a constraint that means "already done".
    Unique,
    /// An effect outside, and one in the database.
    Leased,
    /// The same, with a guard.
    Guarded,
    /// Leased, in steps.
    Steps,
}

impl Kind {
    /// What keys of these jobs begin with.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Transactional => "tx",
            Self::Joined => "joined",
            Self::Bare => "bare",
            Self::Unique => "unique",
            Self::Leased => "leased",
            Self::Guarded => "guarded",
            Self::Steps => "steps",
        }
    }

    /// The key of the `n`th job.
    #[must_use]
    pub fn key(self, n: u64) -> String {
        format!("{}_{n}", self.prefix())
    }
}

/// What a body is to do besides its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// Nothing.
    Plain,
    /// Fail after its effect.
    Fails,
    /// Fail within its first step.
    FailsInStep,
    /// Undo its effect by a raw ROLLBACK, and succeed.
    RollsBack,
    /// The same, and then begin a transaction of its own.
    RollsBackAndBegins,
    /// Not leave the mark that its guard reads.
    LeavesNoMark,
    /// Wait, once it has begun, until its lease was renewed.
    AwaitsRenewal,
    /// Wait, after the effect outside, for the driver.
    Waits,
    /// Lose its key to an attempt that comes after it, and is gone.
    IsOverrun,
}

/// One run of a body: what it is told, and what it tells.
#[derive(Debug)]
pub struct Run {
    /// The attempt's own name: effects are signed with it.
    pub id: String,
    /// How often the key was forgotten by hand before: fences begin anew.
    pub epoch: i64,
    /// What to do besides.
    pub how: How,
    /// The world outside.
    pub gateway: Gateway,
    /// Ends a wait.
    pub go_on: Notify,
}

/// Why a job fails.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The runtime's error.
    #[error(transparent)]
    Runtime(#[from] idempotent_runtime::Error),
    /// The database refused a statement of the body's.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The gateway gave no receipt.
    #[error("the gateway: {0}")]
    Outside(#[from] std::io::Error),
    /// It was told to fail.
    #[error("failed as told")]
    AsTold,
}

impl Run {
    pub(super) fn begun(&self, key: &str) {
        say(&Event::Begun {
            run: self.id.clone(),
            key: key.to_owned(),
        });
    }

    pub(super) fn fail_if(&self, how: How) -> Result<(), JobError> {
        match self.how == how {
            true => Err(JobError::AsTold),
            false => Ok(()),
        }
    }

    /// Charges once for `order`: what a mutant forgets is the key.
    pub(super) async fn charge(&self, order: &str, key: &str) -> Result<String, JobError> {
        let forgets = idempotent_runtime::failpoint::without("the key in the outside call");
        let key = (!forgets).then_some(key);
        Ok(self.gateway.charge(order, key).await?)
    }

    pub(super) async fn pause(&self) {
        match self.how {
            How::Waits => {
                say(&Event::Waits);
                self.go_on.notified().await;
            }
            How::AwaitsRenewal => super::worker::renewed().await,
            _ => {}
        }
    }

    pub(super) fn signed(&self, key: &str, receipt: &str) -> String {
        format!("{key} by {} {receipt}", self.id)
    }
}
