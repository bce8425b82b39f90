//! A shop whose jobs are run again and again, many at once, and whose workers
//! are killed in the middle: `cargo run --example shop`.
//!
//! `jobs` has the four annotated jobs, `naive` the same written by hand (`--
//! --naive`). `world` is the database, `gateway` and `mail` are the outside
//! world, each a process of its own, as are the workers. `schedule` runs it all;
//! `verdict` compares what was to be with what is; `report` prints it.
//!
//! All processes are this one program, in the roles that `cli` names.

mod cli;
mod error;
mod gateway;
mod interrupt;
mod jobs;
mod mail;
mod metrics;
mod naive;
mod pipe;
mod points;
mod report;
mod schedule;
mod tally;
mod task;
mod verdict;
mod words;
mod worker;
mod world;

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use futures_util::FutureExt as _;
use idempotent_runtime::{MySql, Postgres, Sqlite};

use cli::{Cli, Options, Role};
use metrics::{Measured, Recorder};
use pipe::Peer;
use schedule::Schedule;
use verdict::Verdict;
use worker::{Hiring, Setup};
use world::{Place, ShopDatabase, World};

fn main() -> ExitCode {
    let Cli { options, role } = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("shop: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(async {
        match role {
            None => shop(options).await,
            Some(Role::Gateway) => gateway::serve().await.map(|()| ExitCode::SUCCESS),
            Some(Role::MailSink) => mail::serve().await.map(|()| ExitCode::SUCCESS),
            Some(Role::Worker) => worker::work().await.map(|()| ExitCode::SUCCESS),
        }
    });
    ended.unwrap_or_else(|error| {
        eprintln!("shop: {}", words::in_words(&error));
        ExitCode::FAILURE
    })
}

async fn shop(options: Options) -> Result<ExitCode> {
    // Removed when this function ends, in whatever way.
    let scratch = tempfile::tempdir().context("no room for a temporary file")?;
    let place = match (&options.database, &options.db) {
        (Some(server), _) => server.clone(),
        (None, Some(file)) => Place::Sqlite(file.clone()),
        (None, None) => Place::Sqlite(scratch.path().join("shop.db")),
    };
    match &place {
        Place::Sqlite(inner) => shop_on::<Sqlite>(inner, &place, &options).await,
        Place::Postgres(inner) => shop_on::<Postgres>(inner, &place, &options).await,
        Place::MySql(inner) => shop_on::<MySql>(inner, &place, &options).await,
    }
}

/// Runs the shop in a database of its own, and drops that, however the run ends.
async fn shop_on<DB: ShopDatabase>(
    inner: &DB::Place,
    place: &Place,
    options: &Options,
) -> Result<ExitCode> {
    if let Some(server) = place.on_server() {
        eprintln!("database {}", server.database);
    }
    let ended = interrupt::interruptible(async {
        DB::make(inner).await?;
        let world = World::<DB>::create(inner, options.naive).await?;
        run(world, place.clone(), options).await
    });
    // A panic, too: printing to a pipe that is closed is one.
    let ended = AssertUnwindSafe(ended).catch_unwind().await;
    let removed = DB::remove(inner).await;
    let ended = ended.unwrap_or_else(|panic| resume_unwind(panic))?;
    removed.map(|()| ended)
}

async fn run<DB: ShopDatabase>(
    world: World<DB>,
    place: Place,
    options: &Options,
) -> Result<ExitCode> {
    let naive = options.naive;
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    eprintln!("seed {seed}");
    let cases = world.seed(options.jobs).await?;

    let mut gateway = Peer::start("payment gateway", ["gateway".into()])?;
    let gateway_address: SocketAddr = gateway.hear().await?;
    let mut mail = Peer::start("mail sink", ["mail-sink".into()])?;
    let mail_address: SocketAddr = mail.hear().await?;
    let recorder = options.metrics.then(Recorder::install).transpose()?;
    let measured = Measured::default();
    let setup = Setup {
        place,
        gateway: gateway_address,
        mail: mail_address,
        naive,
        metrics: options.metrics,
    };
    let hiring = Hiring::new(setup, measured.clone());
    let tally = Schedule::new(hiring, seed).run(&cases).await?;

    let gateway_report = gateway::report(gateway_address).await?;
    mail.say(&mail::Ask::Report).await?;
    let mail_report: mail::Report = mail.hear().await?;
    let verdict = Verdict::reach(&cases, &tally, &world, &gateway_report, &mail_report).await?;
    gateway.stop().await?;
    mail.stop().await?;
    if let Some(recorder) = recorder {
        // Sets the gauge of keys.
        world.count_keys().await?;
        println!("{}", measured.exposition(&recorder));
    }
    world.close().await;

    let (conclusion, right) = report::conclude(&verdict, naive);
    println!("{}\n{}\n", report::table(&verdict), report::NOTES);
    println!("{}; seed {seed}", conclusion.join("\n"));
    Ok(ExitCode::from(u8::from(!right)))
}
