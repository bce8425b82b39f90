//! Where a job waits until its parent has decided whether to kill the worker.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::payload::Job;
use crate::pipe;
use crate::worker::Event;

/// The runs that wait, by a number.
#[derive(Debug, Default)]
pub struct Points(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    runs: HashMap<u64, oneshot::Sender<()>>,
}

impl Points {
    /// The effect has happened, and nothing says so yet: tells the parent, and waits.
    pub async fn effect_done(&self, job: Job) {
        let (go_on, told) = oneshot::channel();
        let run = self.with(|waiting| {
            waiting.last += 1;
            waiting.runs.insert(waiting.last, go_on);
            waiting.last
        });
        pipe::say(&Event::EffectDone { job, run });
        let _ = told.await;
    }

    /// Lets a run go on.
    pub fn go_on(&self, run: u64) {
        if let Some(go_on) = self.with(|waiting| waiting.runs.remove(&run)) {
            let _ = go_on.send(());
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Waiting) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
