//! Points in a job at which the parent may have a worker wait, to have others
//! catch up with it, or to kill it exactly there.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::pipe;
use crate::worker::Event;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Point {
    /// In the body: claimed (or, in a naive job, checked), nothing done yet.
    InBody,
    /// The effect has happened, and nothing says so yet.
    EffectDone,
    /// The job has returned, and its caller has not heard.
    Returned,
}

/// Where the current run is to wait, if anywhere.
#[derive(Debug, Default)]
pub struct Points(Mutex<Option<Hold>>);

#[derive(Clone, Debug)]
struct Hold {
    at: Point,
    released: Arc<Notify>,
}

impl Points {
    /// Sets the point at which the next run waits; forgets what was set before.
    pub fn hold(&self, at: Option<Point>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at.map(|at| Hold {
            at,
            released: Arc::default(),
        });
    }

    /// Announces the point to the parent and waits to be released, if this is the
    /// point to wait at.
    pub async fn pass(&self, point: Point) {
        let Some(hold) = self.current().filter(|hold| hold.at == point) else {
            return;
        };
        pipe::say(&Event::At(point));
        hold.released.notified().await;
    }

    /// Lets the run go on from where it waits.
    pub fn release(&self) {
        if let Some(hold) = self.current() {
            hold.released.notify_one();
        }
    }

    fn current(&self) -> Option<Hold> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
