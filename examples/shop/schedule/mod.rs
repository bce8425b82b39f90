//! How the tasks are run: one after another, at once, and with workers killed.

mod killed;

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::Barrier;
use tokio::time::{sleep, timeout};

use crate::points::Point;
use crate::tally::Tally;
use crate::task::{Case, Task, Way};
use crate::worker::{Answer, Hand, Hiring, Reply};

/// Worker processes at a time.
const WORKERS: usize = 4;
/// How often one worker is given each task.
const DELIVERIES: usize = 3;
/// How long a body may be held until as many as can be are in it: long enough for all to have come that far.
const MEETING: Duration = Duration::from_millis(50);
/// What fails as often as this will not be done by trying again.
const TRIES: u32 = 100;

pub struct Schedule {
    hiring: Hiring,
    random: RefCell<fastrand::Rng>,
    tally: RefCell<Tally>,
    progress: ProgressBar,
}

impl Schedule {
    pub fn new(hiring: Hiring, seed: u64) -> Self {
        Self {
            hiring,
            random: RefCell::new(fastrand::Rng::with_seed(seed)),
            tally: RefCell::default(),
            progress: ProgressBar::no_length(),
        }
    }

    /// Runs every case in its way, until all are done.
    pub async fn run(self, cases: &[Case]) -> Result<Tally> {
        self.progress.set_style(
            ProgressStyle::with_template("{msg:<20} [{bar:40}] {pos} of {len} calls, {elapsed}")?
                .progress_chars("=> "),
        );
        let steps =
            [DELIVERIES, WORKERS, killed::ROUNDS].map(|each| each * cases.len() / Way::ALL.len());
        self.progress.set_length(steps.iter().sum::<usize>() as u64);
        for way in Way::ALL {
            self.progress.set_message(way.name());
            let tasks: Vec<&Task> = cases
                .iter()
                .filter(|case| case.way == way)
                .map(|case| &case.task)
                .collect();
            match way {
                Way::OneAfterAnother => self.one_after_another(&tasks).await?,
                Way::AtOnce => self.at_once(&tasks).await?,
                Way::Killed => self.killed(&tasks).await?,
            }
        }
        self.progress.finish_and_clear();
        Ok(self.tally.into_inner())
    }

    async fn one_after_another(&self, tasks: &[&Task]) -> Result<()> {
        let mut hand = self.hiring.hire().await?;
        for task in tasks {
            for _ in 0..DELIVERIES {
                self.finish(&mut hand, task, None).await?;
            }
        }
        hand.stop().await
    }

    /// Every task to all workers at the same time. Each waits in the body for the
    /// others, as far as they get there.
    async fn at_once(&self, tasks: &[&Task]) -> Result<()> {
        let mut hands = try_join_all((0..WORKERS).map(|_| self.hiring.hire())).await?;
        for task in tasks {
            let meeting = Barrier::new(WORKERS);
            let calls = hands
                .iter_mut()
                .map(|hand| self.finish(hand, task, Some(&meeting)));
            try_join_all(calls).await?;
        }
        try_join_all(hands.into_iter().map(Hand::stop)).await?;
        Ok(())
    }

    /// Calls the job until it is done, as a queue does.
    async fn finish(&self, hand: &mut Hand, task: &Task, meeting: Option<&Barrier>) -> Result<()> {
        let mut last = String::new();
        for _ in 0..TRIES {
            self.call(hand, task, meeting.map(|_| Point::InBody))
                .await?;
            loop {
                match (hand.reply(task).await?, meeting) {
                    (Reply::Waiting, Some(meeting)) => {
                        let _ = timeout(MEETING, meeting.wait()).await;
                        hand.release().await?;
                    }
                    (Reply::Waiting, None) => bail!("{task} waits, and nobody asked it to"),
                    (Reply::Done(answer), _) => {
                        self.answered(task, answer);
                        return Ok(());
                    }
                    (Reply::Failed { pause, why }, _) => {
                        self.failed(task, pause).await;
                        last = why;
                        break;
                    }
                }
            }
        }
        bail!("{task} is not done after {TRIES} tries: {last}")
    }

    async fn call(&self, hand: &mut Hand, task: &Task, hold: Option<Point>) -> Result<()> {
        self.tally.borrow_mut().called(task);
        hand.call(task, hold).await
    }

    fn answered(&self, task: &Task, answer: Answer) {
        self.tally.borrow_mut().answered(task, answer);
        self.progress.inc(1);
    }

    /// Counts the failure, and waits before the next try.
    async fn failed(&self, task: &Task, pause: Duration) {
        self.tally.borrow_mut().failed(task);
        sleep(pause).await;
    }
}
