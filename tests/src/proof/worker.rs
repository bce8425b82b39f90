//! The process that runs jobs, and fails at the points that it is told.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::Store;
use idempotent_runtime::failpoint::{self, Then};
use nix::sys::signal::{Signal, raise};
use serde::{Deserialize, Serialize};
use sqlx::Pool;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use super::Result;
use super::database::ProofDatabase;
use super::gateway::Gateway;
use super::jobs::{How, JobError, Kind, Run};
use super::pipe::{Heard, say};

/// A job to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// Which job.
    pub kind: Kind,
    /// Its input, and its key's.
    pub n: u64,
    /// How often the key was forgotten by hand before.
    pub epoch: i64,
    /// The attempt's own name.
    pub run: String,
    /// What the body is to do besides its work.
    pub how: How,
}

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Runs a job beside those that run already.
    Run(Task),
    /// Sets what is to happen at a point, in the words of the `fail` crate.
    At(String, String),
    /// Tells of every point that is passed from here on.
    Trace,
    /// Drops the futures of all jobs.
    Drop,
    /// Lets the bodies that wait go on.
    GoOn,
    /// Writes on every connection of the pool, by itself: what is in no transaction stays.
    Probe(String),
}

/// What a worker tells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Event {
    /// It is ready.
    Ready,
    /// A point is passed, and told of.
    Passed(String),
    /// A job stands still at a point, or the process is about to.
    At(String),
    /// A body has begun.
    Begun {
        /// The attempt.
        run: String,
        /// The key.
        key: String,
    },
    /// A body waits to go on.
    Waits,
    /// A job returned.
    Done {
        /// The attempt.
        run: String,
        /// `performed`, `replayed` or `skipped`.
        outcome: String,
        /// Its value.
        value: String,
    },
    /// A job failed.
    Failed {
        /// The attempt.
        run: String,
        /// Why.
        error: String,
        /// Whether the call may be made again as it is.
        retryable: bool,
        /// Whether the key is in doubt, and a person has to decide.
        in_doubt: bool,
    },
    /// A job's future was dropped.
    Dropped {
        /// The attempt.
        run: String,
    },
    /// Whether all connections could be written on.
    Probed(bool),
}

/// How a worker is set up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// Where the database is.
    pub url: String,
    /// Where the gateway is.
    pub gateway: SocketAddr,
    /// How many connections the pool has.
    pub connections: u32,
    /// Whether the server ends transactions that are idle for a second.
    pub idle_limit: bool,
}

static TRACES: AtomicBool = AtomicBool::new(false);
static RENEWALS: AtomicU32 = AtomicU32::new(0);

/// More than half the lease of the jobs.
const LATE: Duration = Duration::from_millis(1100);

fn at_a_point(point: &'static str, told: Option<&str>) -> Then {
    if point == "watch::renew::after-renew" {
        RENEWALS.fetch_add(1, Ordering::Relaxed);
    }
    if TRACES.load(Ordering::Relaxed) {
        say(&Event::Passed(point.to_owned()));
    }
    match told {
        None => Then::GoOn,
        Some("kill") => {
            let _ = raise(Signal::SIGKILL);
            Then::Hang
        }
        Some("stop") => {
            say(&Event::At(point.to_owned()));
            let _ = raise(Signal::SIGSTOP);
            Then::GoOn
        }
        Some("error") => Then::Fail,
        Some("late") => {
            std::thread::sleep(LATE);
            Then::GoOn
        }
        Some("drop") => {
            say(&Event::At(point.to_owned()));
            Then::Hang
        }
        Some(other) => panic!("nobody knows how to {other}"),
    }
}

/// Waits until a lease was renewed.
pub(super) async fn renewed() {
    while RENEWALS.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs what the parent orders, until it is gone.
pub async fn work<DB: ProofDatabase>(setup: Setup) -> Result<()> {
    failpoint::hook(at_a_point);
    let pool = connect::<DB>(&setup).await?;
    let store = Store::new(pool);
    let gateway = Gateway(setup.gateway);
    let mut jobs = JoinSet::new();
    let mut running: HashMap<tokio::task::Id, (Arc<Run>, AbortHandle)> = HashMap::new();
    let mut parent = Heard::new();
    say(&Event::Ready);
    loop {
        let order = tokio::select! {
            order = parent.next() => order,
            Some(ended) = jobs.join_next_with_id() => {
                let (id, told) = match ended {
                    Ok((id, ended)) => (id, Some(ended)),
                    Err(error) => (error.id(), None),
                };
                if let Some((run, _)) = running.remove(&id) {
                    tell(run.id.clone(), told);
                }
                continue;
            }
        };
        match order {
            None => return Ok(()),
            Some(Order::Trace) => TRACES.store(true, Ordering::Relaxed),
            Some(Order::At(point, what)) => fail::cfg(point, &what)?,
            Some(Order::Drop) => running.values().for_each(|(_, job)| job.abort()),
            Some(Order::GoOn) => running.values().for_each(|(run, _)| run.go_on.notify_one()),
            Some(Order::Probe(name)) => {
                let held = DB::probe(store.pool(), setup.connections, &name).await;
                say(&Event::Probed(held.is_ok()));
            }
            Some(Order::Run(task)) => {
                let run = Arc::new(Run {
                    id: task.run,
                    epoch: task.epoch,
                    how: task.how,
                    gateway,
                    go_on: Notify::new(),
                });
                let (store, told) = (store.clone(), Arc::clone(&run));
                let job = async move { DB::run_job(&store, task.kind, task.n, &run).await };
                let handle = jobs.spawn(job);
                running.insert(handle.id(), (told, handle));
            }
        }
    }
}

/// Connects, as soon as the server is there: it may be being restarted.
async fn connect<DB: ProofDatabase>(setup: &Setup) -> sqlx::Result<Pool<DB>> {
    let mut tries = 0;
    loop {
        match DB::open(&setup.url, setup.connections, setup.idle_limit).await {
            Err(_) if tries < 400 => tries += 1,
            done => return done,
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn tell(run: String, ended: Option<Result<(&'static str, String), JobError>>) {
    use idempotent_runtime::Error;

    say(&match ended {
        None => Event::Dropped { run },
        Some(Ok((outcome, value))) => Event::Done {
            run,
            outcome: outcome.to_owned(),
            value,
        },
        Some(Err(error)) => Event::Failed {
            run,
            retryable: match &error {
                JobError::Runtime(error) => error.is_retryable(),
                _ => true,
            },
            in_doubt: matches!(
                &error,
                JobError::Runtime(Error::InDoubt { .. } | Error::TransactionEscaped { .. })
            ),
            error: in_words(&error),
        },
    });
}

/// An error with its sources.
fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        source = error.source();
    }
    words
}
