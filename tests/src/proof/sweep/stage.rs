//! A database, a gateway, and workers to call: what cases are played on.

use std::collections::HashMap;

use idempotent_runtime::{Resolution, Store};
use sqlx::Pool;

use crate::proof::Result;
use crate::proof::checker::{Promise, Seen, Violation, check};
use crate::proof::database::{ProofDatabase, at_rest};
use crate::proof::gateway::{Counted, Gateway, Manners};
use crate::proof::jobs::{How, Kind};
use crate::proof::pipe::Peer;
use crate::proof::worker::{Event, Order, Setup, Task};

/// How often a call is made again before it counts as one that is never answered.
const TRIES: u32 = 12;

/// How many connections the pool of a worker has.
const CONNECTIONS: u32 = 3;

/// What cases are played on.
pub struct Stage<DB: ProofDatabase> {
    /// The database, to look at.
    pub pool: Pool<DB>,
    guard: DB::Guard,
    /// Where it is.
    pub url: String,
    gateway: Peer,
    at: Gateway,
    without: Option<&'static str>,
    seen: Seen,
    epochs: HashMap<String, i64>,
    /// The attempts that hold their keys, as far as nothing has been done to them.
    holders: HashMap<String, String>,
    runs: u64,
    next: u64,
}

/// How a call in a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It returned.
    Done,
    /// It failed.
    Failed {
        /// Whether it may be made again as it is.
        retryable: bool,
        /// Whether a person has to decide first.
        in_doubt: bool,
        /// Why.
        error: String,
    },
    /// Its future was dropped.
    Dropped,
    /// The process is dead.
    Dead,
    /// It stands still at a point.
    At,
    /// Its body waits.
    Waits,
}

impl<DB: ProofDatabase> Stage<DB> {
    /// A fresh database and a gateway that honours keys.
    pub async fn set(without: Option<&'static str>) -> Result<Self> {
        Self::set_on(&DB::server(), without).await
    }

    /// The same on a server of the caller's.
    pub async fn set_on(server: &str, without: Option<&'static str>) -> Result<Self> {
        let (url, guard) = DB::create(server).await;
        let pool = DB::pool(&url, 2).await;
        DB::run(&pool, DB::TABLES).await?;
        Store::new(pool.clone()).migrate().await?;
        DB::run(&pool, DB::REFUSALS).await?;
        pool.close().await;
        let manners = serde_json::to_string(&Manners::GOOD)?;
        let mut gateway = Peer::start(&["gateway".to_owned(), manners], None)?;
        let at = gateway.hear().await?.ok_or("no gateway")?;
        Ok(Self {
            pool: DB::look_from(&url).await?,
            guard,
            url,
            gateway,
            at: Gateway(at),
            without,
            seen: Seen {
                honours_keys: true,
                ..Seen::default()
            },
            epochs: HashMap::new(),
            holders: HashMap::new(),
            runs: 0,
            next: 0,
        })
    }

    /// Takes everything down.
    pub async fn strike(self) -> Result<()> {
        self.gateway.end().await?;
        self.pool.close().await;
        DB::drop_database(&self.guard).await;
        Ok(())
    }

    /// The number of a job that has not run before.
    pub fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A worker. `idle_limit`: the server ends its transactions when they are idle for a second.
    pub async fn worker(&self, idle_limit: bool) -> Result<Peer> {
        self.worker_at(self.url.clone(), idle_limit).await
    }

    /// A worker that reaches the database in another way.
    pub async fn worker_at(&self, url: String, idle_limit: bool) -> Result<Peer> {
        let setup = serde_json::to_string(&Setup {
            url,
            gateway: self.at.0,
            connections: CONNECTIONS,
            idle_limit,
        })?;
        let args = ["worker".to_owned(), DB::CALLED.to_owned(), setup];
        let mut worker = Peer::start(&args, self.without)?;
        match worker.hear().await? {
            Some(Event::Ready) => Ok(worker),
            other => Err(format!("a worker begins with {other:?}").into()),
        }
    }

    /// A call of a job, under a name of its own.
    pub fn task(&mut self, kind: Kind, n: u64, how: How) -> Task {
        self.runs += 1;
        Task {
            kind,
            n,
            epoch: self.epochs.get(&kind.key(n)).copied().unwrap_or(0),
            run: format!("r{}", self.runs),
            how,
        }
    }

    /// Starts a call in a worker.
    pub async fn call(&mut self, worker: &mut Peer, kind: Kind, n: u64, how: How) -> Result<()> {
        let task = self.task(kind, n, how);
        // A worker that is dead does not hear; that it is silent is what counts.
        let _ = worker.say(&Order::Run(task)).await;
        Ok(())
    }

    /// Waits for a call in a worker to end, or to stand still; notes what its caller got. `passed`
    /// gets every point that the worker tells of.
    pub async fn ending(
        &mut self,
        worker: &mut Peer,
        key: &str,
        mut passed: impl FnMut(String),
    ) -> Result<Ending> {
        loop {
            let Some(event) = worker.hear().await? else {
                self.holders.remove(key);
                return Ok(Ending::Dead);
            };
            if let Event::Dropped { run } | Event::Failed { run, .. } | Event::Done { run, .. } =
                &event
            {
                self.holders.retain(|_, holder| holder != run);
            }
            return Ok(match event {
                Event::Passed(point) => {
                    passed(point);
                    continue;
                }
                Event::Begun { run, key } => {
                    self.begun(run, key);
                    continue;
                }
                Event::Ready | Event::Probed(_) => continue,
                Event::At(_) => Ending::At,
                Event::Waits => Ending::Waits,
                Event::Dropped { .. } => Ending::Dropped,
                Event::Failed {
                    error,
                    retryable,
                    in_doubt,
                    ..
                } => Ending::Failed {
                    retryable,
                    in_doubt,
                    error,
                },
                Event::Done { outcome, value, .. } => {
                    if outcome == "skipped" {
                        self.seen.skipped.insert(key.to_owned());
                    } else {
                        let replies = self.seen.replies.entry(key.to_owned()).or_default();
                        replies.push(value);
                    }
                    Ending::Done
                }
            });
        }
    }

    fn begun(&mut self, run: String, key: String) {
        if let Some(holder) = self.holders.insert(key.clone(), run.clone()) {
            let how = format!("{run} began while {holder} was at work");
            self.seen.overlaps.insert(key, how);
        }
    }

    /// From here on, another attempt may begin: this one's process is dead or stands still, or its
    /// lease has ended.
    pub fn let_go(&mut self, key: &str) {
        self.holders.remove(key);
    }

    /// Calls a job in a worker until it is answered; a key that is in doubt is looked into, as a
    /// person would (the jobs here leave their effect with the key or not at all), and run again.
    pub async fn settle(&mut self, worker: &mut Peer, kind: Kind, n: u64) -> Result<()> {
        let key = kind.key(n);
        let mut last = String::new();
        for _ in 0..TRIES {
            self.call(worker, kind, n, How::Plain).await?;
            match self.ending(worker, &key, drop).await? {
                Ending::Done => {
                    self.seen.unanswered.remove(&key);
                    return Ok(());
                }
                Ending::Failed { in_doubt: true, .. } => self.decide(&key).await?,
                Ending::Failed {
                    retryable: true,
                    error,
                    ..
                } => last = error,
                Ending::Failed { error, .. } => {
                    self.seen.unanswered.insert(format!("{key} ({error})"));
                    return Ok(());
                }
                other => return Err(format!("a retry ends with {other:?}").into()),
            }
        }
        self.seen.unanswered.insert(format!("{key} ({last})"));
        Ok(())
    }

    /// Has a key run again, by hand.
    pub async fn decide(&mut self, key: &str) -> Result<()> {
        self.let_go(key);
        *self.epochs.entry(key.to_owned()).or_default() += 1;
        let store = Store::new(self.pool.clone());
        // Where a call that is at work has settled it meanwhile, there is nothing to decide.
        let _ = store.resolve(key, Resolution::RUN_AGAIN).await;
        Ok(())
    }

    /// Ends the lease of a key; `false` where its row is locked.
    pub async fn end_lease(&mut self, key: &str) -> bool {
        self.let_go(key);
        DB::end_lease(&self.pool, key).await.is_ok()
    }

    /// Writes on every connection of a worker's pool, and looks for it from here.
    pub async fn probe(&mut self, worker: &mut Peer, key: &str) -> Result<Option<Violation>> {
        self.runs += 1;
        let name = format!("p{}", self.runs);
        worker.say(&Order::Probe(name.clone())).await?;
        while !matches!(worker.hear().await?, None | Some(Event::Probed(_))) {}
        let stayed = DB::probed(&self.pool, &name).await?;
        Ok((stayed != i64::from(CONNECTIONS)).then(|| Violation {
            promise: Promise::CleanPool,
            key: key.to_owned(),
            how: format!("{stayed} writes of {CONNECTIONS} have stayed"),
        }))
    }

    /// Checks all that was played on this stage.
    pub async fn check(&mut self) -> Result<Vec<Violation>> {
        self.seen.in_transaction = at_rest(&self.pool).await;
        self.seen.charges = self.counted().await?.charges;
        let left = DB::left(&self.pool).await?;
        Ok(check(&self.seen, &left))
    }

    /// What the gateway has counted.
    pub async fn counted(&self) -> Result<Counted> {
        self.at.counted().await
    }
}
