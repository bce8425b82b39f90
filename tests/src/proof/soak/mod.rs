//! The soak: many jobs, with workers killed and stopped at random, the database restarted, and
//! connections cut. Seeded, and bounded in time and in the number of jobs.
//!
//! - [`proxy`]: what cuts connections.
//! - [`crew`]: the workers, and what they say. [`jobs`]: what is called, and what came of it.

pub mod crew;
pub mod jobs;
pub mod proxy;

use std::sync::atomic::Ordering;
use std::time::Duration;

use idempotent_runtime::Store;
use sqlx::Pool;
use tokio::time::{Instant, sleep, sleep_until};

use super::Result;
use super::checker::{Violation, check};
use super::database::{ProofDatabase, at_rest};
use super::gateway::{Gateway, Manners};
use super::pipe::Peer;
use super::server::Server;
use super::worker::Setup;
use crew::{Crew, Said};
use jobs::Jobs;
use proxy::Cuts;

/// How much.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Jobs.
    pub jobs: u64,
    /// After so long no new job is begun.
    pub time: Duration,
    /// What all chance comes from.
    pub seed: u64,
    /// What the gateway does with keys.
    pub gateway: Keys,
}

/// What a gateway does with idempotency keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// It honours them.
    Honours,
    /// It does not know of them.
    Ignores,
    /// It forgets them sooner than a job is taken over.
    Forgets,
}

/// What a soak came to.
#[derive(Debug, Default)]
pub struct Soaked {
    /// Jobs that were called, each until it was answered.
    pub jobs: u64,
    /// Calls, repeated ones included.
    pub calls: u64,
    /// Workers killed.
    pub kills: u64,
    /// Workers stopped for a while.
    pub stops: u64,
    /// Restarts of the server.
    pub restarts: u64,
    /// Connections cut before a COMMIT, and during one.
    pub cuts: (u64, u64),
    /// Replies of the gateway that were dropped, or were an error, after the charge.
    pub dropped: u64,
    /// Charges beyond the first of a key.
    pub charged_again: u64,
    /// The longest time from the death of a worker to the answer of a job that it was at.
    pub longest_takeover: Duration,
    /// The whole.
    pub took: Duration,
    /// Broken promises.
    pub broken: Vec<Violation>,
}

/// How many workers there are.
const WORKERS: usize = 4;

/// How many connections each has.
const CONNECTIONS: u32 = 4;

/// Soaks a database: `server` is one of the soak's own, if the database has servers.
pub async fn soak<DB: ProofDatabase>(mut server: Option<Server>, bounds: Bounds) -> Result<Soaked> {
    let began = Instant::now();
    let file = tempfile::Builder::new().prefix("proof-").tempdir()?;
    let cuts = Cuts::new(15, bounds.seed);
    let (url, through) = match &server {
        None => {
            let url = format!("sqlite:{}", file.path().join("soak.db").display());
            (url.clone(), url)
        }
        Some(server) => {
            let port = proxy::listen(server.port(), cuts.clone()).await?;
            (server.url(server.port()), server.url(port))
        }
    };
    let pool = ready::<DB>(&url).await?;
    DB::run(&pool, DB::TABLES).await?;
    Store::new(pool.clone()).migrate().await?;
    pool.close().await;

    let manners = Manners {
        delay: 20,
        drops: 3,
        honours: bounds.gateway != Keys::Ignores,
        remembers: match bounds.gateway {
            Keys::Forgets => 500,
            Keys::Honours | Keys::Ignores => u64::MAX,
        },
    };
    let gateway_args = ["gateway".to_owned(), serde_json::to_string(&manners)?];
    let mut gateway = Peer::start(&gateway_args, None)?;
    let at = Gateway(gateway.hear().await?.ok_or("no gateway")?);
    let setup = |url: &str| Setup {
        url: url.to_owned(),
        gateway: at.0,
        connections: CONNECTIONS,
        idle_limit: false,
    };

    let mut soaked = Soaked::default();
    let mut jobs = Jobs::new(bounds.jobs, bounds.seed);
    let mut crew = Crew::new(DB::CALLED, setup(&through), WORKERS);
    let mut random = fastrand::Rng::with_seed(bounds.seed);
    let (mut chaos, mut restart) = (Instant::now(), Instant::now() + pause(&mut random, 1500));
    let (no_more, give_up) = (
        began + bounds.time,
        began + bounds.time + Duration::from_secs(60),
    );
    let mut at_peace = false;
    while !jobs.all_answered() && Instant::now() < give_up {
        if Instant::now() >= no_more {
            jobs.no_more();
        }
        if jobs.nearly_all_answered() && !at_peace {
            // What is left is let finish.
            at_peace = true;
            cuts.of_a_thousand.store(0, Ordering::Relaxed);
            crew.wake_all();
        }
        crew.fill(&mut jobs).await;
        tokio::select! {
            said = crew.hear() => hear(said, &mut crew, &mut jobs, &mut soaked),
            () = sleep_until(chaos), if !at_peace => {
                chaos = Instant::now() + pause(&mut random, 100);
                match random.u8(0..10) {
                    0..7 => soaked.kills += crew.kill(random.usize(0..WORKERS)),
                    _ => {
                        let long = Duration::from_millis(random.u64(50..3500));
                        soaked.stops += crew.stop(random.usize(0..WORKERS), long);
                    }
                }
            }
            () = sleep_until(restart), if !at_peace && server.is_some() => {
                restart = Instant::now() + pause(&mut random, 6000);
                if let Some(server) = &mut server {
                    server.restart().await?;
                    soaked.restarts += 1;
                }
            }
            () = sleep(Duration::from_millis(20)) => {}
        }
    }
    jobs.give_up();
    crew.end().await;

    // At rest: every key is asked once more, by a process that knows nothing, past the proxy.
    let pool = ready::<DB>(&url).await?;
    let mut after = Crew::new(DB::CALLED, setup(&url), 1);
    jobs.ask_again();
    let give_up = Instant::now() + Duration::from_secs(120);
    while !jobs.all_answered() && Instant::now() < give_up {
        after.fill(&mut jobs).await;
        tokio::select! {
            said = after.hear() => hear(said, &mut after, &mut jobs, &mut soaked),
            () = sleep(Duration::from_millis(20)) => {}
        }
    }
    jobs.give_up();
    after.end().await;

    let counted = at.counted().await?;
    gateway.end().await?;
    let mut seen = jobs.seen();
    seen.in_transaction = at_rest(&pool).await;
    seen.honours_keys = bounds.gateway == Keys::Honours;
    soaked.charged_again = counted.charges.values().map(|charges| charges - 1).sum();
    seen.charges = counted.charges;
    soaked.broken = check(&seen, &DB::left(&pool).await?);
    pool.close().await;
    if let Some(server) = server {
        server.stop().await?;
    }
    soaked.jobs = jobs.called();
    soaked.calls = jobs.calls();
    soaked.dropped = counted.dropped;
    soaked.cuts = (
        cuts.before.load(Ordering::Relaxed),
        cuts.during.load(Ordering::Relaxed),
    );
    soaked.took = began.elapsed();
    Ok(soaked)
}

fn hear(said: Said, crew: &mut Crew, jobs: &mut Jobs, soaked: &mut Soaked) {
    match said {
        Said::Event(event) => {
            if let Some(took) = jobs.hear(event) {
                soaked.longest_takeover = soaked.longest_takeover.max(took);
            }
        }
        Said::Died(slot, at_work) => {
            jobs.lost(&at_work);
            crew.replace(slot);
        }
    }
}

fn pause(random: &mut fastrand::Rng, about: u64) -> Duration {
    Duration::from_millis(random.u64(about / 2..about * 3 / 2))
}

/// Waits for a database to answer.
pub async fn ready<DB: ProofDatabase>(url: &str) -> Result<Pool<DB>> {
    let mut last = None;
    for _ in 0..300 {
        match DB::open(url, 2, false).await {
            Ok(pool) => return Ok(pool),
            Err(error) => last = Some(error),
        }
        sleep(Duration::from_millis(100)).await;
    }
    Err(format!("the database does not answer: {last:?}").into())
}
