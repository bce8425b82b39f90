//! The jobs that the proof is shown on, the same for each database.
//!
//! None but `guarded` has a guard, and no constraint stands behind the ledger: a second effect would
//! be seen, not refused.

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::gateway::Gateway;
use super::pipe::say;
use super::worker::Event;

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

/// The jobs on one database; `$module` has its `Db`, `Conn` and `sql`.
macro_rules! jobs {
    ($module:ident, $claims_key:literal) => {
        /// The jobs on this database.
        pub mod $module {
            use idempotent_runtime::{Job, Outcome, Store, idempotent};

            use super::{How, JobError, Kind, Run};
            use crate::$module::{Conn, Db, sql};

            /// Runs a job, and gives its value, or why it was skipped.
            pub async fn run(
                store: &Store<Db>,
                kind: Kind,
                n: u64,
                run: &Run,
            ) -> Result<(&'static str, String), JobError> {
                Ok(match kind {
                    Kind::Transactional => told(transactional(store, run, n).await?),
                    Kind::Joined => {
                        let mut tx = store.begin().await?;
                        let done = joined(store.within(&mut tx), run, n).await?;
                        tx.commit().await?;
                        told(done)
                    }
                    Kind::Bare => {
                        let mut conn = store.pool().acquire().await?;
                        told(bare(&mut *conn, run, n).await?)
                    }
                    Kind::Unique => told(unique(store, run, n).await?),
                    Kind::Leased => told(leased(store, run, n).await?),
                    Kind::Guarded => told(guarded(store, run, n).await?),
                    Kind::Steps => told(steps(store, run, n).await?),
                })
            }

            fn told<S>(outcome: Outcome<String, S>) -> (&'static str, String) {
                match outcome {
                    Outcome::Performed(value) => ("performed", value),
                    Outcome::Replayed(value) => ("replayed", value),
                    Outcome::Skipped(_) => ("skipped", String::new()),
                }
            }

            #[idempotent(key = "tx_<n>", wait = 1s)]
            async fn transactional(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                work(conn, &Kind::Transactional.key(n), run).await
            }

            #[idempotent(key = "joined_<n>", wait = 1s)]
            async fn joined(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                work(conn, &Kind::Joined.key(n), run).await
            }

            #[idempotent(key = "bare_<n>", wait = 1s)]
            async fn bare(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                work(conn, &Kind::Bare.key(n), run).await
            }

            #[idempotent(key = "unique_<n>", unique = claims(k), wait = 1s)]
            async fn unique(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                let key = Kind::Unique.key(n);
                sqlx::query(sql("INSERT INTO claims (k) VALUES (?)"))
                    .bind(&key)
                    .execute(&mut *conn)
                    .await?;
                work(conn, &key, run).await
            }

            #[idempotent(key = "leased_<n>", lease = 2s, wait = 1s)]
            async fn leased(job: &mut Job<'_, Db>, run: &Run, n: u64) -> Result<String, JobError> {
                outside_and_inside(job, &Kind::Leased.key(n), run).await
            }

            #[idempotent(key = "guarded_<n>", guard = marked, lease = 2s, wait = 1s)]
            async fn guarded(job: &mut Job<'_, Db>, run: &Run, n: u64) -> Result<String, JobError> {
                let key = Kind::Guarded.key(n);
                let signed = outside_and_inside(job, &key, run).await?;
                if run.how != How::LeavesNoMark {
                    sqlx::query(sql("INSERT INTO marks (k) VALUES (?)"))
                        .bind(&key)
                        .execute(job.tx().await?)
                        .await?;
                }
                Ok(signed)
            }

            async fn marked(conn: &mut Conn, n: u64) -> sqlx::Result<bool> {
                sqlx::query_scalar::<_, i64>(sql("SELECT count(*) FROM marks WHERE k = ?"))
                    .bind(Kind::Guarded.key(n))
                    .fetch_one(conn)
                    .await
                    .map(|marks| marks > 0)
            }

            #[idempotent(key = "steps_<n>", lease = 2s, wait = 1s)]
            async fn steps(job: &mut Job<'_, Db>, run: &Run, n: u64) -> Result<String, JobError> {
                let key = Kind::Steps.key(n);
                begun(job, &key, run).await?;
                job.tx_step("reserve", async |conn| {
                    leave(conn, &format!("{key}/reserve"), run).await?;
                    run.fail_if(How::FailsInStep)
                })
                .await??;
                let receipt = job
                    .step("charge", async |step| run.charge(&key, step.as_str()).await)
                    .await??;
                run.pause().await;
                leave(job.tx().await?, &key, run).await?;
                run.fail_if(How::Fails)?;
                Ok(run.signed(&key, &receipt))
            }

            async fn work(conn: &mut Conn, key: &str, run: &Run) -> Result<String, JobError> {
                run.begun(key);
                leave(conn, key, run).await?;
                run.pause().await;
                run.fail_if(How::Fails)?;
                if run.how == How::RollsBack {
                    sqlx::raw_sql("ROLLBACK").execute(conn).await?;
                }
                Ok(run.signed(key, ""))
            }

            async fn outside_and_inside(
                job: &mut Job<'_, Db>,
                key: &str,
                run: &Run,
            ) -> Result<String, JobError> {
                begun(job, key, run).await?;
                let receipt = run.charge(key, job.key().as_str()).await?;
                run.pause().await;
                if run.how == How::IsOverrun {
                    sqlx::query(sql(concat!(
                        "UPDATE idempotent_keys SET fence = fence + 1 WHERE ",
                        $claims_key,
                        " = ?"
                    )))
                    .bind(job.key().as_str())
                    .execute(job.pool())
                    .await?;
                }
                let conn = job.tx().await?;
                leave(conn, key, run).await?;
                run.fail_if(How::Fails)?;
                if run.how == How::RollsBack {
                    sqlx::raw_sql("ROLLBACK").execute(conn).await?;
                }
                Ok(run.signed(key, &receipt))
            }

            /// The effect.
            async fn leave(conn: &mut Conn, key: &str, run: &Run) -> sqlx::Result<()> {
                sqlx::query(sql("INSERT INTO effects (k, run) VALUES (?, ?)"))
                    .bind(key)
                    .bind(&run.id)
                    .execute(conn)
                    .await
                    .map(drop)
            }

            /// Notes, at once, that an attempt is at work, and with which fence.
            async fn begun(job: &mut Job<'_, Db>, key: &str, run: &Run) -> sqlx::Result<()> {
                run.begun(key);
                sqlx::query(sql(
                    "INSERT INTO runs (k, run, epoch, fence) VALUES (?, ?, ?, ?)",
                ))
                .bind(key)
                .bind(&run.id)
                .bind(run.epoch)
                .bind(job.fence())
                .execute(job.pool())
                .await
                .map(drop)
            }
        }
    };
}

jobs!(sqlite, "key");
jobs!(postgres, "key");
jobs!(mysql, "`key`");
