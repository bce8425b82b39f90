//! The jobs of a soak: called until they are answered, some of them twice, and some again later.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::proof::checker::Seen;
use crate::proof::jobs::{How, Kind};
use crate::proof::worker::{Event, Task};

/// The jobs, and what has become of them.
#[derive(Debug)]
pub struct Jobs {
    jobs: Vec<Job>,
    /// What is to be called, and not before when.
    queue: VecDeque<(Instant, usize)>,
    /// The attempts that are under way.
    under_way: HashMap<String, usize>,
    /// How many jobs are begun, of how many.
    begun: usize,
    random: fastrand::Rng,
    calls: u64,
    replies: Vec<(usize, String)>,
    refused: BTreeSet<String>,
    open: usize,
}

#[derive(Debug)]
struct Job {
    kind: Kind,
    n: u64,
    answered: bool,
    /// When the worker that was at it died.
    orphaned: Option<Instant>,
}

impl Jobs {
    /// So many, by the seed.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let jobs: Vec<Job> = (0..count)
            .map(|n| Job {
                kind: match random.u8(0..100) {
                    0..45 => Kind::Transactional,
                    45..55 => Kind::Joined,
                    55..80 => Kind::Leased,
                    80..85 => Kind::Guarded,
                    _ => Kind::Steps,
                },
                n,
                answered: false,
                orphaned: None,
            })
            .collect();
        Self {
            open: jobs.len(),
            jobs,
            queue: VecDeque::new(),
            under_way: HashMap::new(),
            begun: 0,
            random,
            calls: 0,
            replies: Vec::new(),
            refused: BTreeSet::new(),
        }
    }

    /// The next call to make, if there is one.
    pub fn next_call(&mut self) -> Option<Task> {
        let now = Instant::now();
        let ripe = self.queue.iter().position(|(when, _)| *when <= now);
        let job = match ripe.and_then(|at| self.queue.remove(at)) {
            Some((_, job)) => job,
            None if self.begun < self.jobs.len() => {
                self.begun += 1;
                let job = self.begun - 1;
                // Delivered twice, as queues do.
                if self.random.u8(0..100) < 8 {
                    self.queue.push_back((now, job));
                }
                job
            }
            None => return None,
        };
        self.calls += 1;
        let run = format!("c{}", self.calls);
        self.under_way.insert(run.clone(), job);
        Some(Task {
            kind: self.jobs[job].kind,
            n: self.jobs[job].n,
            epoch: 0,
            run,
            how: How::Plain,
        })
    }

    /// What became of a call; how long its job was without a worker, if one had died over it.
    pub fn hear(&mut self, event: Event) -> Option<Duration> {
        match event {
            Event::Done {
                run,
                outcome,
                value,
            } => {
                let job = self.under_way.remove(&run)?;
                if outcome != "skipped" {
                    self.replies.push((job, value));
                }
                let orphaned = self.jobs[job].orphaned.take();
                if !self.jobs[job].answered {
                    self.jobs[job].answered = true;
                    self.open -= 1;
                    if self.random.u8(0..100) < 8 {
                        let later = Duration::from_millis(self.random.u64(0..2000));
                        self.queue.push_back((Instant::now() + later, job));
                    }
                }
                orphaned.map(|since| since.elapsed())
            }
            Event::Failed {
                run,
                error,
                retryable,
                ..
            } => {
                let job = self.under_way.remove(&run)?;
                if !retryable {
                    let key = self.jobs[job].kind.key(self.jobs[job].n);
                    self.refused
                        .insert(format!("{key} (not retryable: {error})"));
                }
                self.again(job);
                None
            }
            Event::Dropped { run } => {
                let job = self.under_way.remove(&run)?;
                let key = self.jobs[job].kind.key(self.jobs[job].n);
                self.refused.insert(format!("{key} (panicked)"));
                self.again(job);
                None
            }
            _ => None,
        }
    }

    fn again(&mut self, job: usize) {
        if !self.jobs[job].answered {
            let soon = Duration::from_millis(self.random.u64(5..50));
            self.queue.push_back((Instant::now() + soon, job));
        }
    }

    /// A worker died over these calls.
    pub fn lost(&mut self, runs: &[String]) {
        for run in runs {
            if let Some(job) = self.under_way.remove(run) {
                if !self.jobs[job].answered {
                    self.jobs[job].orphaned.get_or_insert_with(Instant::now);
                }
                self.again(job);
            }
        }
    }

    /// Begins no more jobs than are begun.
    pub fn no_more(&mut self) {
        self.open -= self.jobs.len() - self.begun;
        self.jobs.truncate(self.begun);
    }

    /// Whether every job has been answered.
    #[must_use]
    pub fn all_answered(&self) -> bool {
        self.open == 0
    }

    /// Whether all jobs are begun, and few are open.
    #[must_use]
    pub fn nearly_all_answered(&self) -> bool {
        self.begun == self.jobs.len() && self.open <= self.jobs.len() / 50
    }

    /// Forgets the calls that are under way or to be made.
    pub fn give_up(&mut self) {
        self.queue.clear();
        self.under_way.clear();
    }

    /// Calls every job once more.
    pub fn ask_again(&mut self) {
        let now = Instant::now();
        for (number, job) in self.jobs.iter_mut().enumerate() {
            // What was not answered in all that time stays so.
            if std::mem::take(&mut job.answered) {
                self.queue.push_back((now, number));
                self.open += 1;
            } else {
                let key = job.kind.key(job.n);
                self.refused.insert(format!("{key} (never)"));
                self.open -= 1;
            }
        }
    }

    /// How many jobs were called.
    #[must_use]
    pub fn called(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// How many calls were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// What callers have seen.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for (job, value) in &self.replies {
            let key = self.jobs[*job].kind.key(self.jobs[*job].n);
            seen.replies.entry(key).or_default().push(value.clone());
        }
        seen.unanswered = self.refused.clone();
        for job in self.jobs.iter().filter(|job| !job.answered) {
            seen.unanswered.insert(job.kind.key(job.n));
        }
        seen
    }
}
