//! Four worker processes, kept at work; some are killed.

use std::cell::RefCell;
use std::collections::HashSet;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;
use tokio::sync::watch;

use crate::payload::Job;
use crate::pipe::Peer;
use crate::tally::Tally;
use crate::worker::{Event, GoOn, Setup};

const WORKERS: usize = 4;
/// Workers may end by themselves, and a new one takes the place; when so many have, something else
/// is wrong.
const FALLEN: u64 = 20;

pub struct Crew {
    setup: Setup,
    /// The jobs whose worker is to be killed when their effect has happened, once.
    to_kill: RefCell<HashSet<Job>>,
    tally: RefCell<Tally>,
    closed: watch::Sender<bool>,
}

impl Crew {
    pub fn new(setup: Setup, to_kill: HashSet<Job>) -> Self {
        Self {
            setup,
            to_kill: RefCell::new(to_kill),
            tally: RefCell::default(),
            closed: watch::Sender::new(false),
        }
    }

    /// Keeps the workers at work, until [`close`](Self::close).
    pub async fn work(&self) -> Result<()> {
        try_join_all((0..WORKERS).map(|_| self.seat())).await?;
        Ok(())
    }

    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    pub fn into_tally(self) -> Tally {
        self.tally.into_inner()
    }

    /// One worker after another, each a process of its own.
    async fn seat(&self) -> Result<()> {
        let mut closed = self.closed.subscribe();
        loop {
            let mut worker = Peer::start("worker", ["worker".into()])?;
            worker.say(&self.setup).await?;
            let ended = tokio::select! {
                ended = self.watch(&mut worker) => ended,
                _ = closed.wait_for(|&closed| closed) => return worker.stop().await,
            };
            match ended {
                Ok(job) => {
                    self.tally.borrow_mut().killed(job);
                    worker.kill().await?;
                }
                Err(why) => {
                    let mut tally = self.tally.borrow_mut();
                    tally.fallen += 1;
                    if tally.fallen == FALLEN {
                        bail!("{FALLEN} workers ended by themselves, the last one: {why:#}");
                    }
                }
            }
        }
    }

    /// Until it is time to kill the worker, for the sake of the job.
    async fn watch(&self, worker: &mut Peer) -> Result<Job> {
        loop {
            match worker.hear().await? {
                Event::Told { job, told } => self.tally.borrow_mut().told(job, told),
                Event::EffectDone { job, run } => {
                    if self.to_kill.borrow_mut().remove(&job) {
                        return Ok(job);
                    }
                    worker.say(&GoOn(run)).await?;
                }
            }
        }
    }
}
