//! A worker process: what it is told, what it answers, and its two ends.

mod hand;
mod process;

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::metrics::Sample;
use crate::points::Point;
use crate::task::Task;
use crate::world::Place;

pub use hand::{Hand, Hiring, Reply};
pub use process::work;

/// What a worker is told first, and not on its command line: a server's URL may hold a password.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    pub place: Place,
    pub gateway: SocketAddr,
    pub mail: SocketAddr,
    pub naive: bool,
    pub metrics: bool,
}

/// From the parent to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Run this, and wait at `hold`, if it is passed, for [`Order::Release`].
    Run {
        task: Task,
        hold: Option<Point>,
    },
    Release,
}

/// From the worker to the parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// Set up, and waiting for orders.
    Ready,
    /// Waiting at the point.
    At(Point),
    /// What the worker has measured so far; before the end of each call, if it was asked for.
    Measured(Vec<Sample>),
    Done(Answer),
    Failed(Failure),
}

/// What the job returned.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Performed(Value),
    Replayed(Value),
    Skipped,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Failure {
    pub message: String,
    /// None if trying again would change nothing.
    pub retry_after: Option<Duration>,
}
