//! What the lab needs of a database, beside the ledger's own statements.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub(super) use postgres::Server as PgServer;

use std::future::Future;
use std::time::Duration;

use sqlx::Pool;

#[cfg(any(feature = "postgres", feature = "mysql"))]
use super::relay::Relay;
use super::statements::Statements;
use super::turns::Turns;
use crate::dialect::Backend;

/// A database that the lab can make worlds on: each [`Backend`], behind the feature of its name.
pub trait LabDatabase: Bench {}

/// The lab's own business with a database.
#[doc(hidden)]
pub trait Bench: Backend {
    /// Where its databases are made.
    type Place;

    /// One of them.
    type Made;

    /// Ends every lease, as if its time had passed.
    const END_LEASES: &'static str;

    /// The ledger's keys as text, one a row.
    const KEYS: &'static str;

    /// Whether sqlx logs a statement in the task that polls it.
    const LOGS_IN_TASK: bool;

    /// How many connections a process has from the start: opening one takes several waits, and
    /// whether a job comes upon an idle one is a matter of luck.
    const OPEN: usize;

    /// Makes an empty database.
    fn make(place: &Self::Place) -> impl Future<Output = sqlx::Result<Self::Made>>;

    /// Takes it away, or empties it to be made again.
    fn unmake(made: Self::Made) -> impl Future<Output = sqlx::Result<()>>;

    /// Takes away what was emptied only.
    fn clear(_: &Self::Place) -> impl Future<Output = sqlx::Result<()>> {
        async { Ok(()) }
    }

    /// What stands between a process and the server, if there is one.
    fn between(_: &Self::Made, _: &Turns) -> impl Future<Output = std::io::Result<Between>> {
        async { Ok(Between::default()) }
    }

    /// Opens a pool of so many connections on it, each of which waits so long for a lock. What they
    /// run in a process is heard, and their answers take turns with the attempts.
    fn open(
        made: &Self::Made,
        connections: u32,
        lock_wait: Duration,
        process: Option<&Ears>,
    ) -> impl Future<Output = sqlx::Result<Pool<Self>>>;

    /// The columns of all tables, in the order of the catalogue; without what the database itself
    /// keeps.
    fn columns(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<Column>>>;

    /// Runs a query whose columns are all text.
    fn fetch(
        pool: &Pool<Self>,
        sql: String,
    ) -> impl Future<Output = sqlx::Result<Vec<Vec<String>>>>;

    /// Runs a statement, and gives the number of rows that it changed; `None` where somebody holds a
    /// lock in its way.
    fn execute(
        pool: &Pool<Self>,
        sql: &'static str,
    ) -> impl Future<Output = sqlx::Result<Option<u64>>>;
}

/// What listens to a process's connections.
#[derive(Debug, Default)]
pub struct Ears {
    pub(super) statements: Statements,
    pub(super) turns: Turns,
    pub(super) between: Between,
}

/// A relay, where a server can be reached through one: not over a socket of the file system, and not
/// where its certificate has to name it.
#[derive(Debug, Default)]
pub struct Between {
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    relay: Option<Relay>,
}

impl Between {
    /// Waits until the server has done all that was sent.
    pub(super) async fn end(self) {
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        if let Some(relay) = self.relay {
            relay.end().await;
        }
    }

    #[cfg(any(feature = "postgres", feature = "mysql"))]
    async fn relay(host: &str, port: u16, turns: &Turns) -> std::io::Result<Self> {
        let relay = Relay::to(host, port, turns).await?;
        Ok(Self { relay: Some(relay) })
    }

    #[cfg(any(feature = "postgres", feature = "mysql"))]
    fn port(&self) -> Option<u16> {
        self.relay.as_ref().map(Relay::port)
    }
}

/// A column of the catalogue.
#[derive(Debug)]
pub struct Column {
    pub(super) table: String,
    pub(super) name: String,
    /// The table in a statement.
    pub(super) from: String,
    /// An expression for the value as text, unlike that of any other value: `NULL`, `42`, `'x'`.
    pub(super) literal: String,
    /// Whether the value comes from a sequence that no rollback sets back, or refers to one: it says
    /// nothing about the job.
    pub(super) numbered: bool,
}

/// A name in double quotes, as standard SQL has it.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Runs it to its end on a thread of its own, for where nothing can be awaited: what a failed or
/// panicking lab has made on a server is taken away by destructors.
#[cfg(any(feature = "postgres", feature = "mysql"))]
fn on_a_thread(work: impl Future<Output = sqlx::Result<()>> + Send + 'static) {
    /// A lock in its way is held by this very thread, and will not go.
    const PATIENCE: Duration = Duration::from_secs(10);

    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // The error that led here is told; what is left has the lab's name.
        if let Ok(runtime) = runtime {
            let _ = runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await });
        }
    });
    let _ = thread.join();
}

/// A name for a database that no other world has.
#[cfg(any(feature = "postgres", feature = "mysql"))]
fn fresh_name() -> sqlx::Result<String> {
    let random = getrandom::u64().map_err(|_| sqlx::Error::WorkerCrashed)?;
    Ok(format!("idempotent_lab_{random:016x}"))
}
