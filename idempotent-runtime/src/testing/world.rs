//! A world of its own for each run: a fresh database, and what stands outside of it.

use std::time::Duration;

use sqlx::Pool;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use super::database::{Between, Ears, LabDatabase};
use super::error::LabError;
use super::lab::Experiment;
use super::seen::Seen;
use super::snapshot::Snapshot;
use super::statements::Statements;
use super::turns::Turns;
use crate::store::{Store, WRITER_WAIT};

/// How many connections a process of the lab has.
const CONNECTIONS: u32 = 8;

/// How long the lab itself waits for a lock before it takes it that an attempt holds it.
const LOCKED: Duration = Duration::from_millis(20);

/// How long an attempt's connections may take to come back, where the lab's patience is not shorter.
const RETURN: Duration = Duration::from_secs(10);

/// A fresh database, and an outside.
pub(super) struct World<DB: LabDatabase, O> {
    /// The lab's own way in, beside the processes that run the job.
    pool: Pool<DB>,
    pub(super) outside: O,
    /// How long connections may take to come back.
    patience: Duration,
    /// The last to go.
    made: DB::Made,
}

/// What there is in a world: its business tables, and what is observed.
#[derive(Debug)]
pub(super) struct State {
    pub(super) tables: Snapshot,
    pub(super) seen: Box<dyn Seen>,
}

impl State {
    pub(super) fn same(&self, other: &Self) -> bool {
        self.tables == other.tables && self.seen.same(&*other.seen)
    }
}

impl<DB: LabDatabase, O> World<DB, O> {
    /// Makes one as the experiment says.
    pub(super) async fn fresh(lab: &Experiment<'_, DB, O>) -> Result<Self, LabError> {
        let made = DB::make(&lab.place)
            .await
            .map_err(LabError::database("making a database"))?;
        let pool = DB::open(&made, 1, LOCKED, None)
            .await
            .map_err(LabError::database("opening a database"))?;
        let outside = lab.world.make(&pool).await;
        let outside = outside.map_err(|error| match lab.made_one.get() {
            false => LabError::World(error),
            true => LabError::WorldAgain(error),
        })?;
        lab.made_one.set(true);
        Store::new(pool.clone())
            .migrate()
            .await
            .map_err(LabError::database("installing the ledger"))?;
        Ok(Self {
            pool,
            outside,
            patience: lab.patience.min(RETURN),
            made,
        })
    }

    /// Starts a process on it: a store of its own.
    pub(super) async fn process(&self) -> Result<Process<DB>, LabError> {
        let mut ears = Ears::default();
        ears.between = DB::between(&self.made, &ears.turns)
            .await
            .map_err(LabError::database("opening a way to the server"))?;
        let pool = DB::open(&self.made, CONNECTIONS, WRITER_WAIT, Some(&ears))
            .await
            .map_err(LabError::database("opening a store"))?;
        let mut open = Vec::with_capacity(DB::OPEN);
        for _ in 0..DB::OPEN {
            let connection = pool.acquire().await;
            open.push(connection.map_err(LabError::database("opening a connection"))?);
        }
        drop(open);
        // They come back in tasks of their own.
        while pool.num_idle() < DB::OPEN {
            yield_now().await;
        }
        Ok(Process {
            store: Store::new(pool),
            statements: ears.statements,
            turns: ears.turns,
            between: ears.between,
            patience: self.patience,
        })
    }

    /// Ends all leases, as if their time had passed, and gives their number; `None` where a write
    /// transaction keeps everybody else out.
    pub(super) async fn end_leases(&self) -> Result<Option<u64>, LabError> {
        DB::execute(&self.pool, DB::END_LEASES)
            .await
            .map_err(LabError::database("ending leases"))
    }

    /// The same when no attempt is at work: a lock is only held until what was cut off is undone.
    pub(super) async fn end_all_leases(&self) -> Result<(), LabError> {
        let deadline = Instant::now() + self.patience;
        while self.end_leases().await?.is_none() {
            if Instant::now() > deadline {
                return Err(LabError::ConnectionKept);
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// The keys of the ledger.
    pub(super) async fn keys(&self) -> Result<Vec<String>, LabError> {
        let keys = DB::fetch(&self.pool, DB::KEYS.to_owned())
            .await
            .map_err(LabError::database("reading the ledger"))?;
        Ok(keys.into_iter().flatten().collect())
    }

    /// What there is now.
    pub(super) async fn state(&self, lab: &Experiment<'_, DB, O>) -> Result<State, LabError> {
        Ok(State {
            tables: Snapshot::take(&self.pool, &lab.ignored).await?,
            seen: lab.seen(&self.outside),
        })
    }

    /// Takes it away.
    pub(super) async fn end(self) -> Result<(), LabError> {
        drop(self.outside);
        // What a job's task may still hold is not waited for; the world is not used again.
        let _ = timeout(Duration::from_secs(1), self.pool.close()).await;
        DB::unmake(self.made)
            .await
            .map_err(LabError::database("taking a database away"))
    }
}

/// A process of the application: its store, the statements that it ran, and whose turn it is in it.
pub(super) struct Process<DB: LabDatabase> {
    pub(super) store: Store<DB>,
    pub(super) statements: Statements,
    pub(super) turns: Turns,
    between: Between,
    patience: Duration,
}

impl<DB: LabDatabase> Process<DB> {
    /// From here on nothing is released by what is dropped. A killed process gives nothing back; its
    /// connections end, and the database undoes what was open on them.
    pub(super) fn crash(&self) {
        self.store.crash();
    }

    /// Ends it: all its connections are closed when this returns, and what was sent on them is done.
    pub(super) async fn end(self) -> Result<(), LabError> {
        timeout(self.patience, self.store.close())
            .await
            .map_err(|_| LabError::ConnectionKept)?;
        self.between.end().await;
        Ok(())
    }
}
