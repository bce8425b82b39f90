//! Killing workers in the middle of their jobs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;
use tokio::time::sleep;

use super::{Schedule, TRIES, WORKERS};
use crate::points::Point;
use crate::task::Task;
use crate::worker::{Hand, Reply};

/// Each task is cut off twice and then called until it is done, twice.
pub(super) const ROUNDS: usize = 4;

/// By when a call is over, mostly.
const CALL: Duration = Duration::from_millis(20);

/// When to kill the worker.
#[derive(Clone, Copy)]
enum Kill {
    /// When it has announced that it is there.
    At(Point),
    /// By the clock, wherever it is then.
    After(Duration),
}

impl Schedule {
    pub(super) async fn killed(&self, tasks: &[&Task]) -> Result<()> {
        let effect_done = tasks
            .iter()
            .map(|&task| (task, Some(Kill::At(Point::EffectDone))));
        let anywhere = tasks.iter().map(|&task| (task, Some(self.random_kill())));
        let done = tasks.iter().map(|&task| (task, None));
        let rounds: [VecDeque<_>; ROUNDS] = [
            effect_done.collect(),
            anywhere.collect(),
            done.clone().collect(),
            done.collect(),
        ];
        let mut hands: Vec<Option<Hand>> = (0..WORKERS).map(|_| None).collect();
        for round in rounds {
            let queue = RefCell::new(round);
            try_join_all(hands.iter_mut().map(|hand| self.work_off(&queue, hand))).await?;
        }
        try_join_all(hands.into_iter().flatten().map(Hand::stop)).await?;
        Ok(())
    }

    fn random_kill(&self) -> Kill {
        let mut random = self.random.borrow_mut();
        match random.u8(..4) {
            0 => Kill::At(Point::InBody),
            1 => Kill::At(Point::EffectDone),
            2 => Kill::At(Point::Returned),
            _ => Kill::After(CALL.mul_f64(random.f64())),
        }
    }

    /// One worker's share of a round; a new worker takes the place of a killed one.
    async fn work_off(
        &self,
        queue: &RefCell<VecDeque<(&Task, Option<Kill>)>>,
        place: &mut Option<Hand>,
    ) -> Result<()> {
        loop {
            let next = queue.borrow_mut().pop_front();
            let Some((task, kill)) = next else {
                return Ok(());
            };
            let mut hand = match place.take() {
                Some(hand) => hand,
                None => self.hiring.hire().await?,
            };
            match kill {
                Some(kill) if self.run_until(&mut hand, task, kill).await? => {
                    hand.kill().await?;
                    let in_between = matches!(kill, Kill::At(Point::EffectDone));
                    self.tally.borrow_mut().killed(task, in_between);
                    self.progress.inc(1);
                }
                Some(_) => *place = Some(hand),
                None => {
                    self.finish(&mut hand, task, None).await?;
                    *place = Some(hand);
                }
            }
        }
    }

    /// Whether it is time to kill the worker; the job may be done first.
    async fn run_until(&self, hand: &mut Hand, task: &Task, kill: Kill) -> Result<bool> {
        let (hold, clock) = match kill {
            Kill::At(point) => (Some(point), Duration::MAX),
            Kill::After(clock) => (None, clock),
        };
        let mut last = String::new();
        for _ in 0..TRIES {
            self.call(hand, task, hold).await?;
            let reply = tokio::select! {
                reply = hand.reply(task) => reply?,
                () = sleep(clock) => return Ok(true),
            };
            match reply {
                Reply::Waiting => return Ok(true),
                Reply::Done(answer) => {
                    self.answered(task, answer);
                    return Ok(false);
                }
                Reply::Failed { pause, why } => {
                    self.failed(task, pause).await;
                    last = why;
                }
            }
        }
        bail!("{task} is not done after {TRIES} tries: {last}")
    }
}
