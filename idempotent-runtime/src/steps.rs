//! Recovery points: steps of a leased job whose results are kept, so that a retry goes on where the
//! attempt before it stopped.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::codec;
use crate::dialect::{Backend, Begin};
use crate::error::Error;
use crate::job::Job;
use crate::key::Key;
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::leased::Writing;
use crate::ledger::record::{Finished, Standing, Step};
use crate::observe;
use crate::retry::alone;
use crate::store::Writer;
use crate::tx::Tx;

/// The longest name of a step, in bytes.
const MAX_STEP_NAME: usize = 200;

/// What a run knows of its steps.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// What earlier attempts recorded, and this run has not come to; `None` until it is asked for.
    left: Option<Vec<Step>>,
    /// The names that this run has used.
    used: HashSet<String>,
    /// The names that this run may leave out.
    retired: HashSet<String>,
}

impl Steps {
    /// A recorded step that this run must come to, and has not.
    fn missed(&self) -> Option<&str> {
        let mut left = self.left.as_ref()?.iter().map(|step| &*step.name);
        left.find(|name| !self.retired.contains(*name))
    }

    /// Takes a recorded step, which this run has come to.
    fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        let left = self.left.as_mut()?;
        let at = left.iter().position(|step| step.name == name)?;
        Some(left.remove(at).result)
    }
}

impl<DB: Backend> Job<'_, DB> {
    /// Runs a step, and records its result before going on; a retry of the job gets the recorded
    /// result, and does not run the step again.
    ///
    /// The step gets a key of its own for systems outside (`order_42/charge`), the same on every
    /// attempt: a step that is cut off between its effect and its record runs again with it. The
    /// outer `Result` is this crate's, the inner one the step's own; a step that fails records
    /// nothing.
    ///
    /// `name` is unique within a run; in a loop, make it from what the loop goes over. Steps come in
    /// the same order on every attempt.
    ///
    /// # Errors
    ///
    /// [`Error::StepMismatch`] for a name that is empty, too long or used twice, and where an
    /// earlier attempt recorded a step that this run did not come to (a deploy renamed it: see
    /// [`retire_step`](Self::retire_step)); [`Error::StepAfterTx`] after [`tx`](Self::tx);
    /// [`Error::LeaseLost`], [`Error::Encode`], [`Error::Decode`], [`Error::ResultTooLarge`],
    /// [`Error::Database`].
    ///
    /// ```
    /// # use idempotent_runtime::{Job, Sqlite};
    /// # struct Gateway;
    /// # impl Gateway { async fn charge(&self, _: &str) -> anyhow::Result<String> { Ok(String::new()) } }
    /// # async fn body(job: &mut Job<'_, Sqlite>, gateway: &Gateway) -> anyhow::Result<()> {
    /// let receipt = job.step("charge", async |key| gateway.charge(key.as_str()).await).await??;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn step<'n, T, E>(
        &mut self,
        name: impl Into<Cow<'n, str>>,
        run: impl AsyncFnOnce(&Key) -> Result<T, E>,
    ) -> Result<Result<T, E>, Error>
    where
        T: Serialize + DeserializeOwned,
    {
        let name = name.into().into_owned();
        if let Some(recorded) = self.recorded(&name).await? {
            return self.replay(&name, &recorded).map(Ok);
        }
        let value = match run(&self.key().step(&name)).await {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        let (value, result) = self.encode(&name, &value)?;
        self.record(Step { name, result }).await?;
        Ok(Ok(value))
    }

    /// Runs a step that writes to the database: its writes and its record commit together, at once,
    /// whatever becomes of the job after it.
    ///
    /// Otherwise as [`step`](Self::step); and [`Error::TransactionEscaped`] where the step ended the
    /// transaction by raw SQL.
    ///
    /// ```
    /// # use idempotent_runtime::{Job, Sqlite};
    /// # use sqlx::SqliteConnection;
    /// # async fn reserve(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<()> { Ok(()) }
    /// # async fn body(job: &mut Job<'_, Sqlite>, order_id: i64) -> anyhow::Result<()> {
    /// job.tx_step("reserve", async |conn| reserve(conn, order_id).await).await??;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn tx_step<'n, T, E>(
        &mut self,
        name: impl Into<Cow<'n, str>>,
        run: impl AsyncFnOnce(&mut DB::Connection) -> Result<T, E>,
    ) -> Result<Result<T, E>, Error>
    where
        T: Serialize + DeserializeOwned,
    {
        const DOING: &str = "completing a step";

        let name = name.into().into_owned();
        if let Some(recorded) = self.recorded(&name).await? {
            return self.replay(&name, &recorded).map(Ok);
        }
        let how = Begin { mark: true };
        let writing = self.claim.writing();
        let (mut tx, writer) = point!(
            "step::tx",
            "begin",
            self.claim.store.begin_write(how, Instant::now())
        )
        .await?;
        let value = match run(tx.conn()).await {
            Ok(value) => value,
            Err(error) => {
                self.undo_step(tx, (writer, writing)).await?;
                return Ok(Err(error));
            }
        };
        let (value, result) = match self.encode(&name, &value) {
            Ok(encoded) => encoded,
            Err(error) => {
                self.undo_step(tx, (writer, writing)).await?;
                return Err(error);
            }
        };
        let step = Step { name, result };
        let key = self.claim.call.key.as_str();
        match point!(
            "step::tx",
            "finish",
            DB::finish_step(tx.on(), key, &self.claim.holder, &step)
        )
        .await
        {
            Ok(Finished::Done) => {
                point!("step::tx", "commit", tx.commit())
                    .await
                    .map_err(|error| error.into_failed::<DB>(DOING))?;
                observe::step_recorded(&self.claim.call.span, &step.name);
            }
            Ok(Finished::Lost) => return Err(self.lost()),
            Ok(Finished::TooLarge(limit)) => {
                return Err(self.too_large(&step.name, step.result.len(), limit));
            }
            Ok(Finished::Escaped) => {
                tx.distrust();
                drop((tx, writer, writing));
                return Err(self.claim.escaped().await);
            }
            Err(error) => return Err(error.into_failed::<DB>(DOING)),
        }
        Ok(Ok(value))
    }

    /// Undoes what a step wrote, unless it ended its transaction itself: then nobody can.
    async fn undo_step(&self, mut tx: Tx<'_, DB>, locks: (Writer, Writing)) -> Result<(), Error> {
        const DOING: &str = "undoing a step";

        let claim = self.claim;
        match point!(
            "step::undo",
            "check",
            DB::still_ours(tx.on(), &claim.call.claim(false), None)
        )
        .await
        {
            Ok(Standing::Open | Standing::Undone) => {
                if let Err(problem) = point!("step::undo", "rollback", tx.rollback()).await {
                    observe::not_undone(&claim.call.span, DOING, &problem);
                    tx.distrust();
                }
            }
            Ok(Standing::Escaped) => {
                tx.distrust();
                drop((tx, locks));
                return Err(claim.escaped().await);
            }
            Err(problem) => {
                observe::not_undone(&claim.call.span, DOING, &problem);
                tx.distrust();
            }
        }
        Ok(())
    }

    /// Says that an earlier version of the job may have recorded this step, and that this version
    /// does not come to it any more. Call it before the steps.
    ///
    /// ```
    /// # use idempotent_runtime::{Job, Sqlite};
    /// # async fn body(job: &mut Job<'_, Sqlite>) {
    /// job.retire_step("notify-v1"); // was dropped in June
    /// # }
    /// ```
    pub fn retire_step<'n>(&mut self, name: impl Into<Cow<'n, str>>) {
        self.steps.retired.insert(name.into().into_owned());
    }

    /// Refuses to complete a job that did not come to a recorded step.
    pub(crate) async fn no_step_left_out(&mut self) -> Result<(), Error> {
        if self.claim.is_leftover() {
            self.load().await?;
        }
        self.all_steps_came()
    }

    fn all_steps_came(&self) -> Result<(), Error> {
        match self.steps.missed() {
            Some(missed) => Err(self.left_out(missed)),
            None => Ok(()),
        }
    }

    /// What an earlier attempt recorded for a step that is about to run.
    async fn recorded(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        if self.tx.is_some() {
            return Err(Error::StepAfterTx {
                key: self.claim.call.shown(),
                step: name.to_owned(),
            });
        }
        if name.is_empty() || name.len() > MAX_STEP_NAME {
            let problem = "a step's name has 1 to 200 bytes";
            return Err(self.mismatch(name, problem));
        }
        if !self.steps.used.insert(name.to_owned()) {
            let problem = "its name is used twice in this run; give each step a name of its own (in \
                           a loop, make it from what the loop goes over)";
            return Err(self.mismatch(name, problem));
        }
        self.load().await?;
        if let Some(recorded) = self.steps.take(name) {
            observe::step_replayed(&self.claim.call.span, name);
            return Ok(Some(recorded));
        }
        // Before it runs: a renamed step would repeat the effect of its old name.
        self.all_steps_came().map(|()| None)
    }

    /// Reads what earlier attempts recorded, once.
    async fn load(&mut self) -> Result<(), Error> {
        if self.steps.left.is_none() {
            let mut conn = self.claim.store.connection().await?;
            let steps = point!(
                "step::load",
                "read",
                DB::steps(conn.on(), self.claim.call.key.as_str())
            )
            .await
            .map_err(|error| error.into_failed::<DB>("reading steps"))?;
            self.steps.left = Some(steps);
        }
        Ok(())
    }

    fn replay<T: DeserializeOwned>(&self, name: &str, recorded: &[u8]) -> Result<T, Error> {
        codec::decode(recorded).map_err(|problem| Error::Decode {
            key: self.claim.call.shown(),
            job: self.claim.call.site.name.to_owned(),
            path: match &*problem.path {
                "" => format!("step {name}"),
                path => format!("step {name}: {path}"),
            },
            problem: problem.what,
        })
    }

    async fn record(&mut self, step: Step) -> Result<(), Error> {
        let claim = self.claim;
        let deadline = claim.call.lock_deadline();
        let (mut tx, _writer) = claim.store.write_connection(deadline).await?;
        let recorded = alone!(
            DB,
            deadline,
            tx,
            point!(
                "step::record",
                "record",
                DB::record_step(tx.on(), claim.call.key.as_str(), &claim.holder, &step)
            )
        )
        .map_err(|error| error.into_failed::<DB>("recording a step"))?;
        match recorded {
            Finished::Done => {
                observe::step_recorded(&claim.call.span, &step.name);
                Ok(())
            }
            Finished::TooLarge(limit) => Err(self.too_large(&step.name, step.result.len(), limit)),
            Finished::Lost | Finished::Escaped => Err(self.lost()),
        }
    }

    fn lost(&self) -> Error {
        Error::LeaseLost {
            key: self.claim.call.shown(),
        }
    }

    fn left_out(&self, missed: &str) -> Error {
        self.mismatch(
            missed,
            "an earlier attempt recorded it, and this run did not come to it first: keep its name \
             and place, or say `job.retire_step(…)` where a deploy has taken it out",
        )
    }

    fn mismatch(&self, step: &str, problem: &str) -> Error {
        Error::StepMismatch {
            key: self.claim.call.shown(),
            step: step.to_owned(),
            problem: problem.to_owned(),
        }
    }

    /// The value as every replay will give it, and as it is stored.
    fn encode<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        value: &T,
    ) -> Result<(T, Vec<u8>), Error> {
        let (value, result) = codec::round_trip(value).map_err(|problem| Error::Encode {
            what: format!("the result of step `{name}`"),
            problem,
        })?;
        let limit = self.claim.call.options.result_limit;
        match result.len() > limit {
            true => Err(self.too_large(name, result.len(), limit)),
            false => Ok((value, result)),
        }
    }

    /// Names the step by its key.
    fn too_large(&self, name: &str, size: usize, limit: usize) -> Error {
        let call = &self.claim.call;
        Error::ResultTooLarge {
            key: call.options.show(&self.key().step(name)),
            size,
            limit,
        }
    }
}
