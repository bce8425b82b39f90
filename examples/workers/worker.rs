//! A worker process: what it is told, what it says, and what it does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use apalis::prelude::{BackendExt as _, BoxDynError, Data, WorkerBuilder, WorkerBuilderExt as _};
use idempotent_runtime::SqliteStore;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::App;
use crate::gateway::Gateway;
use crate::payload::{Job, Payload};
use crate::pipe::Heard;
use crate::points::Points;
use crate::queue::{Connection, Queue, postgres, redis, sqlite};
use crate::settle::{WorkError, settled};
use crate::{jobs, naive};

/// How often an idle worker asks the queue for more.
const POLL: Duration = Duration::from_millis(100);
/// How many jobs of a kind a process works on at a time.
const AT_ONCE: usize = 3;

/// What a worker is told first, and not on its command line: a URL may hold a password.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    pub queue: Queue,
    pub books: PathBuf,
    pub gateway: SocketAddr,
    pub naive: bool,
}

/// From the parent to the worker: the run of this number goes on.
#[derive(Debug, Serialize, Deserialize)]
pub struct GoOn(pub u64);

/// From the worker to the parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// The effect has happened, and nothing says so yet; the run waits for [`GoOn`].
    EffectDone { job: Job, run: u64 },
    /// What the queue is told.
    Told { job: Job, told: Told },
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Told {
    /// What the handler gave.
    Answered(Value),
    /// It failed: try again.
    Again,
    /// It failed, and always will.
    Never,
}

/// Works both queues off, until the parent is gone.
pub async fn work() -> Result<()> {
    // A panicking handler is caught, and told of; its words are not wanted on the terminal.
    std::panic::set_hook(Box::new(|_| {}));
    let mut parent = Heard::new();
    let Some(setup) = parent.next::<Setup>().await? else {
        return Ok(());
    };
    let app = App {
        store: SqliteStore::open(&setup.books.to_string_lossy()).await?,
        gateway: Gateway::new(setup.gateway),
        points: Arc::new(Points::default()),
    };
    let queue = setup.queue.connect().await?;
    tokio::select! {
        heard = listen(parent, &app.points) => heard,
        failed = work_off(&queue, &app, setup.naive) => failed,
    }
}

async fn listen(mut parent: Heard, points: &Points) -> Result<()> {
    while let Some(GoOn(run)) = parent.next().await? {
        points.go_on(run);
    }
    Ok(())
}

/// A worker of apalis for each queue; either ends only when it fails.
async fn work_off(queue: &Connection, app: &App, naive: bool) -> Result<()> {
    if naive {
        tokio::try_join!(
            handle(queue, app, naive::charge),
            handle(queue, app, naive::award),
        )?;
    } else {
        tokio::try_join!(
            handle(queue, app, jobs::charge),
            handle(queue, app, jobs::award),
        )?;
    }
    Ok(())
}

async fn handle<T, H, F, R>(queue: &Connection, app: &App, handler: H) -> Result<()>
where
    T: Payload,
    H: Fn(T, Data<App>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<R, WorkError>> + Send + 'static,
    R: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    // Each backend is a type of its own, and `run` asks for a page of bounds: written out for each.
    macro_rules! run {
        ($storage:expr) => {
            WorkerBuilder::new(name(T::KIND.name()))
                .backend($storage.poll_with_interval(POLL))
                .concurrency(AT_ONCE)
                .data(app.clone())
                .build(settled(handler))
                .run()
                .await
        };
    }
    let ended = match queue {
        Connection::Sqlite(pool) => run!(sqlite::storage::<T>(pool)),
        Connection::Postgres(pool) => run!(postgres::storage::<T>(pool)),
        Connection::Redis(redis) => run!(redis::storage::<T>(redis)),
    };
    ended.map_err(|error| anyhow!(BoxDynError::from(error)))
}

/// A name that no other worker has, or had: apalis refuses one that it has heard of lately, and so
/// a worker that was killed and is started again under its old name.
fn name(queue: &str) -> String {
    format!("{queue}_{:016x}", fastrand::u64(..))
}
