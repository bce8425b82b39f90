//! A run, from an empty queue to the verdict.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures_util::FutureExt as _;
use idempotent_runtime::SqliteStore;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::{Instant, sleep};

use crate::cli::Options;
use crate::crew::Crew;
use crate::payload::{Award, Charge, Job, Kind};
use crate::pipe::Peer;
use crate::queue::{Connection, Queue};
use crate::verdict::{Plan, Verdict};
use crate::worker::Setup;
use crate::{books, gateway, interrupt, report};

const CENTS: i64 = 1200;
const POINTS: i64 = 12;
/// Of so many orders, the workers on one are killed.
const KILL_ONE_IN: i64 = 3;
/// How often the queue is asked how far it is: no backend of apalis tells by itself.
const ASK: Duration = Duration::from_millis(200);
/// Nothing here takes anywhere near as long without a job getting done.
const PATIENCE: Duration = Duration::from_mins(1);

pub async fn run(options: &Options) -> Result<ExitCode> {
    // Removed when this function ends, in whatever way.
    let scratch = tempfile::tempdir().context("no room for a temporary file")?;
    let queue = match &options.queue {
        Some(queue) => queue.clone(),
        None => Queue::Sqlite(scratch.path().join("queue.db")),
    };
    if let Some(name) = queue.name() {
        eprintln!("queue {name}");
    }
    let ended = interrupt::interruptible(async {
        queue.make().await?;
        let books = scratch.path().join("shop.db");
        let store = SqliteStore::open(&books.to_string_lossy()).await?;
        let mut gateway = Peer::start("payment gateway", ["gateway".into()])?;
        let address: SocketAddr = gateway.hear().await?;
        let setup = Setup {
            queue: queue.clone(),
            books,
            gateway: address,
            naive: options.naive,
        };
        let ended = run_on(&store, setup, options).await?;
        gateway.stop().await?;
        Ok(ended)
    });
    // A panic, too: printing to a pipe that is closed is one.
    let ended = AssertUnwindSafe(ended).catch_unwind().await;
    let removed = queue.remove().await;
    let ended = ended.unwrap_or_else(|panic| resume_unwind(panic))?;
    removed.map(|()| ended)
}

async fn run_on(store: &SqliteStore, setup: Setup, options: &Options) -> Result<ExitCode> {
    let orders: Vec<i64> = (1..=i64::from(options.orders)).collect();
    // Two more, for poison; nobody can charge or award these.
    let last = i64::from(options.orders);
    let (worthless, negative, gone) = (last + 1, last + 2, last + 3);
    let all: Vec<i64> = (1..=negative).collect();
    books::lay_out(store.pool(), &all, CENTS).await?;

    let charge = |order_id, cents| Charge { order_id, cents };
    let award = |order_id, points| Award { order_id, points };
    let mut charges: Vec<Charge> = orders.iter().map(|&id| charge(id, CENTS)).collect();
    charges.extend([charge(worthless, 0), charge(gone, CENTS)]);
    let mut awards: Vec<Award> = orders.iter().map(|&id| award(id, POINTS)).collect();
    awards.push(award(negative, -POINTS));
    // Every job twice, as when a producer hears no answer and pushes again.
    let charges = [charges.clone(), charges].concat();
    let awards = [awards.clone(), awards].concat();
    // And later, a mistake of the producer's: the same orders with another amount.
    let mistakes: Vec<Charge> = orders.iter().map(|&id| charge(id, CENTS + 1)).collect();

    let killed = orders.iter().filter(|&&id| id % KILL_ONE_IN == 0);
    let to_kill: HashSet<Job> = killed
        .flat_map(|&order_id| Kind::ALL.map(|kind| Job { kind, order_id }))
        .collect();
    let kills = (to_kill.len() / Kind::ALL.len()) as u64;
    // By hand, the other amount is not noticed, and nothing else is.
    let mismatched = if options.naive { 0 } else { mistakes.len() };
    let plans = [
        Plan {
            kind: Kind::Charge,
            pushed: (charges.len() + mistakes.len()) as u64,
            poison: 2 + mismatched as u64,
            kills,
        },
        Plan {
            kind: Kind::Award,
            pushed: awards.len() as u64,
            poison: 2,
            kills,
        },
    ];

    let queue = setup.queue.connect().await?;
    let gateway = setup.gateway;
    let crew = Crew::new(setup, to_kill);
    let progress = progress(plans.iter().map(|plan| plan.pushed).sum())?;
    let produced = async {
        let pushed = charges.len() + awards.len();
        queue.push(charges).await?;
        queue.push(awards).await?;
        until_settled(&queue, pushed as u64, &progress).await?;
        let pushed = pushed + mistakes.len();
        queue.push(mistakes).await?;
        until_settled(&queue, pushed as u64, &progress).await?;
        crew.close();
        Ok(())
    };
    tokio::try_join!(produced, crew.work())?;
    progress.finish_and_clear();

    let mut seen = Vec::new();
    for plan in plans {
        seen.push((plan, queue.settled(plan.kind).await?));
    }
    queue.close().await;
    let gateway = gateway::report(gateway).await?;
    let tally = crew.into_tally();
    let verdict = Verdict::reach(&orders, &seen, &tally, store.pool(), &gateway).await?;
    let (conclusion, right) = report::conclude(&verdict, options.naive);
    println!("{}\n{}\n", report::table(&verdict), report::NOTES);
    println!("{}", conclusion.join("\n"));
    Ok(ExitCode::from(u8::from(!right)))
}

/// Waits until so many jobs will not run again.
async fn until_settled(queue: &Connection, jobs: u64, progress: &ProgressBar) -> Result<()> {
    let mut last = Instant::now();
    loop {
        let mut settled = 0;
        for kind in Kind::ALL {
            settled += queue.settled(kind).await?.all();
        }
        if settled != progress.position() {
            progress.set_position(settled);
            last = Instant::now();
        }
        if settled == jobs {
            return Ok(());
        }
        if last.elapsed() > PATIENCE {
            bail!("{settled} of {jobs} jobs are settled, and no more for {PATIENCE:?}");
        }
        sleep(ASK).await;
    }
}

fn progress(jobs: u64) -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("[{bar:40}] {pos} of {len} jobs, {elapsed}")?;
    Ok(ProgressBar::new(jobs).with_style(style.progress_chars("=> ")))
}
