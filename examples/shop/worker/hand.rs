//! The parent's end: a worker process in hand.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Answer, Event, Order, Setup};
use crate::metrics::Measured;
use crate::pipe::Peer;
use crate::points::Point;
use crate::task::Task;

/// How to get a worker.
pub struct Hiring {
    setup: Setup,
    measured: Measured,
    hired: Cell<u64>,
}

impl Hiring {
    /// What the workers measure is told to `measured`.
    pub fn new(setup: Setup, measured: Measured) -> Self {
        Self {
            setup,
            measured,
            hired: Cell::default(),
        }
    }

    /// Starts a worker process, and returns when it waits for orders.
    pub async fn hire(&self) -> Result<Hand> {
        self.hired.update(|hired| hired + 1);
        let mut hand = Hand {
            peer: Peer::start("worker", ["worker".into()])?,
            number: self.hired.get(),
            measured: self.measured.clone(),
        };
        hand.peer.say(&self.setup).await?;
        match hand.peer.hear().await? {
            Event::Ready => Ok(hand),
            event => bail!("a worker began with {event:?}"),
        }
    }
}

/// A worker process. It is killed when this is dropped.
pub struct Hand {
    peer: Peer,
    number: u64,
    measured: Measured,
}

/// What became of a call.
pub enum Reply {
    /// It waits where it was told to.
    Waiting,
    Done(Answer),
    /// It failed, and may be tried again after the pause.
    Failed {
        pause: Duration,
        why: String,
    },
}

impl Hand {
    /// Starts a call, without waiting for anything.
    pub async fn call(&mut self, task: &Task, hold: Option<Point>) -> Result<()> {
        let task = task.clone();
        self.peer.say(&Order::Run { task, hold }).await
    }

    /// Lets the call go on from the point where it waits.
    pub async fn release(&mut self) -> Result<()> {
        self.peer.say(&Order::Release).await
    }

    /// What comes of the call of `task` next.
    pub async fn reply(&mut self, task: &Task) -> Result<Reply> {
        loop {
            return match self.peer.hear().await? {
                Event::Ready => bail!("a worker began anew"),
                Event::Measured(samples) => {
                    self.measured.told(self.number, samples);
                    continue;
                }
                Event::At(_) => Ok(Reply::Waiting),
                Event::Done(answer) => Ok(Reply::Done(answer)),
                Event::Failed(failure) => match failure.retry_after {
                    Some(pause) => Ok(Reply::Failed {
                        pause,
                        why: failure.message,
                    }),
                    None => bail!("{task} failed: {}", failure.message),
                },
            };
        }
    }

    /// Kills the worker (SIGKILL).
    pub async fn kill(self) -> Result<()> {
        let status = self.peer.kill().await?;
        #[cfg(unix)]
        let killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
        #[cfg(not(unix))]
        let killed = !status.success();
        if !killed {
            bail!("a worker ended before it could be killed: {status}");
        }
        Ok(())
    }

    pub async fn stop(self) -> Result<()> {
        self.peer.stop().await
    }
}
