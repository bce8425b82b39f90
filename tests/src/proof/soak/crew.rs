//! The workers of a soak: they die, and are replaced.

use std::collections::HashSet;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc;

use super::jobs::Jobs;
use crate::proof::pipe::{Ears, Peer};
use crate::proof::worker::{Event, Order, Setup};

/// How many jobs a worker is at, at once.
const AT_ONCE: usize = 3;

/// The workers.
pub struct Crew {
    args: [String; 3],
    workers: Vec<Option<Worker>>,
    said: mpsc::UnboundedReceiver<(usize, u64, Option<Event>)>,
    says: mpsc::UnboundedSender<(usize, u64, Option<Event>)>,
    hired: u64,
}

struct Worker {
    number: u64,
    pid: Pid,
    ears: Ears,
    ready: bool,
    runs: HashSet<String>,
}

/// What a worker said.
#[derive(Debug)]
pub enum Said {
    /// Something happened to a job.
    Event(Event),
    /// A worker died, and was at these attempts.
    Died(usize, Vec<String>),
}

impl Crew {
    /// So many workers on a database.
    #[must_use]
    pub fn new(database: &str, setup: Setup, workers: usize) -> Self {
        let setup = serde_json::to_string(&setup).expect("plain data");
        let (says, said) = mpsc::unbounded_channel();
        let mut crew = Self {
            args: ["worker".to_owned(), database.to_owned(), setup],
            workers: (0..workers).map(|_| None).collect(),
            said,
            says,
            hired: 0,
        };
        (0..workers).for_each(|slot| crew.replace(slot));
        crew
    }

    /// Starts a worker in a slot.
    pub fn replace(&mut self, slot: usize) {
        self.hired += 1;
        let number = self.hired;
        let Ok(peer) = Peer::start(&self.args, None) else {
            return;
        };
        let (pid, ears, mut mouth) = peer.split();
        let says = self.says.clone();
        tokio::spawn(async move {
            loop {
                let event = mouth.hear().await;
                let over = event.is_none();
                if says.send((slot, number, event)).is_err() || over {
                    return;
                }
            }
        });
        self.workers[slot] = Some(Worker {
            number,
            pid,
            ears,
            ready: false,
            runs: HashSet::new(),
        });
    }

    /// Gives work to those who have room.
    pub async fn fill(&mut self, jobs: &mut Jobs) {
        for worker in self.workers.iter_mut().flatten() {
            while worker.ready && worker.runs.len() < AT_ONCE {
                let Some(task) = jobs.next_call() else { return };
                worker.runs.insert(task.run.clone());
                // One that is dead does not hear, and its death is told.
                let _ = worker.ears.say(&Order::Run(task)).await;
            }
        }
    }

    /// What is said next.
    pub async fn hear(&mut self) -> Said {
        loop {
            let Some((slot, number, event)) = self.said.recv().await else {
                unreachable!("this end keeps a sender");
            };
            let Some(worker) = self.workers[slot]
                .as_mut()
                .filter(|worker| worker.number == number)
            else {
                continue;
            };
            match event {
                None => {
                    let at_work = worker.runs.drain().collect();
                    self.workers[slot] = None;
                    return Said::Died(slot, at_work);
                }
                Some(Event::Ready) => worker.ready = true,
                Some(event) => {
                    if let Event::Done { run, .. }
                    | Event::Failed { run, .. }
                    | Event::Dropped { run } = &event
                    {
                        worker.runs.remove(run);
                    }
                    return Said::Event(event);
                }
            }
        }
    }

    /// Kills a worker: how many were.
    pub fn kill(&mut self, slot: usize) -> u64 {
        self.signal(slot, Signal::SIGKILL)
    }

    /// Stops a worker for a while: how many were.
    pub fn stop(&mut self, slot: usize, long: Duration) -> u64 {
        let stopped = self.signal(slot, Signal::SIGSTOP);
        if let Some(pid) = self.workers[slot].as_ref().map(|worker| worker.pid) {
            let says = self.says.clone();
            tokio::spawn(async move {
                tokio::time::sleep(long).await;
                // Not after the soak, when the number may be another process's.
                if !says.is_closed() {
                    let _ = kill(pid, Signal::SIGCONT);
                }
            });
        }
        stopped
    }

    fn signal(&self, slot: usize, signal: Signal) -> u64 {
        let worker = self.workers[slot].as_ref().filter(|worker| worker.ready);
        let sent = worker.is_some_and(|worker| kill(worker.pid, signal).is_ok());
        u64::from(sent)
    }

    /// Lets everyone go on.
    pub fn wake_all(&self) {
        for slot in 0..self.workers.len() {
            self.signal(slot, Signal::SIGCONT);
        }
    }

    /// Ends all workers in good order.
    pub async fn end(mut self) {
        self.wake_all();
        let mut left = self.workers.iter().flatten().count();
        // A closed pipe ends a worker.
        let numbers: Vec<Option<u64>> = self
            .workers
            .iter_mut()
            .map(|worker| worker.take().map(|worker| worker.number))
            .collect();
        let over = tokio::time::timeout(Duration::from_secs(20), async {
            while left > 0 {
                let Some((slot, number, event)) = self.said.recv().await else {
                    return;
                };
                if event.is_none() && numbers[slot] == Some(number) {
                    left -= 1;
                }
            }
        });
        let _ = over.await;
    }
}
