//! What a user says: the database, the world, the job, and what to look at.

use std::cell::Cell;
use std::fmt::{self, Debug};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use sqlx::Pool;

use super::attempt::{Attempt, Work};
use super::database::LabDatabase;
use super::error::{BoxError, LabError};
use super::report::Report;
use super::seen::Seen;
use super::snapshot::Ignored;
use super::trials;
use super::world::Process;
use crate::store::Store;

/// How long a call may take, where nothing else is said.
const PATIENCE: Duration = Duration::from_secs(60);

/// A laboratory that finds jobs that are not safe to run again; see the [module](super).
///
/// It begins with a database: `Lab::sqlite()`, `Lab::postgres(url)` or `Lab::mysql(url)`. Then it needs
/// a [`world`](Self::world) for the job to work in, and the [`job`](Setting::job).
pub struct Lab<DB: LabDatabase> {
    place: DB::Place,
}

#[cfg(feature = "sqlite")]
impl Lab<sqlx::Sqlite> {
    /// Every world is a SQLite file of its own, in a temporary folder.
    #[must_use]
    pub fn sqlite() -> Self {
        Self { place: () }
    }
}

#[cfg(feature = "postgres")]
impl Lab<sqlx::Postgres> {
    /// Every world is a database of its own on the server of this URL, whose role may make databases
    /// (`CREATEDB`).
    #[must_use]
    pub fn postgres(url: impl Into<String>) -> Self {
        let place = super::database::PgServer::at(url.into());
        Self { place }
    }
}

#[cfg(feature = "mysql")]
impl Lab<sqlx::MySql> {
    /// Every world is a database of its own on the server of this URL, MySQL or MariaDB, whose user
    /// may make databases.
    #[must_use]
    pub fn mysql(url: impl Into<String>) -> Self {
        Self { place: url.into() }
    }
}

impl<DB: LabDatabase> Lab<DB> {
    /// How to make a world: the business tables and what is in them, and the outside that the job
    /// works with (a fake gateway, say), which is what the closure returns.
    ///
    /// It is called anew for every run, on a fresh, empty database, and has to make the same world
    /// each time. The ledger's tables are the lab's business.
    ///
    /// ```
    /// use idempotent_runtime::testing::Lab;
    ///
    /// struct Gateway;
    ///
    /// let lab = Lab::sqlite().world(async |db| {
    ///     sqlx::raw_sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, paid INTEGER); INSERT INTO orders (id) VALUES (42)")
    ///         .execute(db)
    ///         .await?;
    ///     Ok(Gateway)
    /// });
    /// ```
    pub fn world<'l, O, W>(self, world: W) -> Setting<'l, DB, O>
    where
        W: AsyncFn(&Pool<DB>) -> Result<O, BoxError> + 'l,
    {
        Setting {
            place: self.place,
            world: Box::new(world),
        }
    }
}

/// A database and a world, and no job yet.
pub struct Setting<'l, DB: LabDatabase, O> {
    place: DB::Place,
    world: Box<dyn MakeWorld<DB, O> + 'l>,
}

impl<'l, DB: LabDatabase, O> Setting<'l, DB, O> {
    /// One call of the job: with a store (by value; each attempt gets one on connections of its own),
    /// and the world's outside. Every call of the closure has to mean the same work.
    pub fn job<T, E, J>(self, job: J) -> Experiment<'l, DB, O>
    where
        J: AsyncFn(Store<DB>, &O) -> Result<T, E> + 'l,
        E: Into<BoxError> + 'l,
        T: 'l,
    {
        Experiment {
            place: self.place,
            world: self.world,
            job: Box::new(Call(job, PhantomData)),
            observe: Box::new(|_| Box::new(())),
            ignored: Ignored::default(),
            patience: PATIENCE,
            made_one: Cell::new(false),
        }
    }
}

/// The `observe` closure, whatever its result.
type Observe<'l, O> = Box<dyn Fn(&O) -> Box<dyn Seen> + 'l>;

/// A job in its world, ready to [`run`](Self::run).
pub struct Experiment<'l, DB: LabDatabase, O> {
    pub(super) place: DB::Place,
    pub(super) world: Box<dyn MakeWorld<DB, O> + 'l>,
    job: Box<dyn StartJob<DB, O> + 'l>,
    observe: Observe<'l, O>,
    pub(super) ignored: Ignored,
    pub(super) patience: Duration,
    /// Whether a world was made already.
    pub(super) made_one: Cell<bool>,
}

impl<'l, DB: LabDatabase, O> Experiment<'l, DB, O> {
    /// What the job did outside the database: a value to compare, such as the charges that a fake
    /// gateway made. Count effects, not requests: a retry may ask again with the same key.
    #[must_use]
    pub fn observe<V, S>(mut self, observe: S) -> Self
    where
        S: Fn(&O) -> V + 'l,
        V: PartialEq + Debug + 'static,
    {
        self.observe = Box::new(move |outside| Box::new(observe(outside)));
        self
    }

    /// Columns whose values may differ from one run to the next: `"paid_at"` in every table, or
    /// `"orders.paid_at"`.
    #[must_use]
    pub fn ignore_columns(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.ignored.add(names);
        self
    }

    /// How long one call of the job may take before the lab takes it for one that hangs: 60 seconds
    /// where nothing is said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs all trials. They take a few seconds for a job of a dozen statements: every one of its
    /// waits is cut several times, each time in a world of its own.
    ///
    /// # Errors
    ///
    /// [`LabError`] where the job could not be judged. What is wrong with the job is in the report.
    pub async fn run(self) -> Result<Report, LabError> {
        let report = trials::run(&self).await?;
        DB::clear(&self.place)
            .await
            .map_err(LabError::database("taking the databases away"))?;
        Ok(report)
    }

    /// Starts a call of the job in a process.
    pub(super) fn attempt<'a>(&'a self, process: &Process<DB>, outside: &'a O) -> Attempt<'a> {
        let work = self.job.start(process.store.clone(), outside);
        let listener = DB::LOGS_IN_TASK.then(|| process.statements.listener(None));
        Attempt::new(work, process.turns.clone(), listener, self.patience)
    }

    pub(super) fn seen(&self, outside: &O) -> Box<dyn Seen> {
        (self.observe)(outside)
    }
}

/// The `world` closure, whatever its type.
pub(super) trait MakeWorld<DB: LabDatabase, O> {
    fn make<'a>(
        &'a self,
        pool: &'a Pool<DB>,
    ) -> Pin<Box<dyn Future<Output = Result<O, BoxError>> + 'a>>;
}

impl<DB: LabDatabase, O, W> MakeWorld<DB, O> for W
where
    W: AsyncFn(&Pool<DB>) -> Result<O, BoxError>,
{
    fn make<'a>(
        &'a self,
        pool: &'a Pool<DB>,
    ) -> Pin<Box<dyn Future<Output = Result<O, BoxError>> + 'a>> {
        Box::pin(self(pool))
    }
}

/// The `job` closure, whatever its type.
trait StartJob<DB: LabDatabase, O> {
    fn start<'a>(&'a self, store: Store<DB>, outside: &'a O) -> Work<'a>;
}

struct Call<J, T, E>(J, PhantomData<fn() -> Result<T, E>>);

impl<DB: LabDatabase, O, J, T, E> StartJob<DB, O> for Call<J, T, E>
where
    J: AsyncFn(Store<DB>, &O) -> Result<T, E>,
    E: Into<BoxError>,
{
    fn start<'a>(&'a self, store: Store<DB>, outside: &'a O) -> Work<'a> {
        Box::pin(async move { (self.0)(store, outside).await.map(drop).map_err(Into::into) })
    }
}

impl<DB: LabDatabase> Debug for Lab<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").finish_non_exhaustive()
    }
}

impl<DB: LabDatabase, O> Debug for Setting<'_, DB, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting").finish_non_exhaustive()
    }
}

impl<DB: LabDatabase, O> Debug for Experiment<'_, DB, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment")
            .field("ignored", &self.ignored)
            .finish_non_exhaustive()
    }
}
