//! The parent's end: a worker process in hand.

use std::time::Duration;

use anyhow::{Result, bail};

use super::{Answer, Event, Order, Setup};
use crate::pipe::Peer;
use crate::points::Point;
use crate::task::Task;

/// How to get a worker.
pub struct Hiring(pub Setup);

impl Hiring {
    /// Starts a worker process, and returns when it waits for orders.
    pub async fn hire(&self) -> Result<Hand> {
        let mut hand = Hand(Peer::start("worker", ["worker".into()])?);
        hand.0.say(&self.0).await?;
        match hand.0.hear().await? {
            Event::Ready => Ok(hand),
            event => bail!("a worker began with {event:?}"),
        }
    }
}

/// A worker process. It is killed when this is dropped.
pub struct Hand(Peer);

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
        self.0.say(&Order::Run { task, hold }).await
    }

    /// Lets the call go on from the point where it waits.
    pub async fn release(&mut self) -> Result<()> {
        self.0.say(&Order::Release).await
    }

    /// What comes of the call of `task` next.
    pub async fn reply(&mut self, task: &Task) -> Result<Reply> {
        match self.0.hear().await? {
            Event::Ready => bail!("a worker began anew"),
            Event::At(_) => Ok(Reply::Waiting),
            Event::Done(answer) => Ok(Reply::Done(answer)),
            Event::Failed(failure) => match failure.retry_after {
                Some(pause) => Ok(Reply::Failed {
                    pause,
                    why: failure.message,
                }),
                None => bail!("{task} failed: {}", failure.message),
            },
        }
    }

    /// Kills the worker (SIGKILL).
    pub async fn kill(self) -> Result<()> {
        let status = self.0.kill().await?;
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
        self.0.stop().await
    }
}
