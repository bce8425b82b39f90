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
mod jobs;
mod mail;
mod naive;
mod pipe;
mod points;
mod report;
mod schedule;
mod tally;
mod task;
mod verdict;
mod worker;
mod world;

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use idempotent_runtime::{MySql, Postgres, Sqlite};

use cli::{Cli, Options, Role};
use pipe::Peer;
use schedule::Schedule;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
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
        eprintln!("shop: {}", error::in_words(&error));
        ExitCode::FAILURE
    })
}

async fn shop(options: Options) -> Result<ExitCode> {
    // Removed when this function ends, in whatever way.
    let scratch = tempfile::tempdir().context("no room for a temporary file")?;
    let file = || {
        options
            .db
            .clone()
            .unwrap_or_else(|| scratch.path().join("shop.db"))
    };
    let place = options
        .database
        .clone()
        .unwrap_or_else(|| Place::Sqlite(file()));
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
    let ended = interruptible(async {
        DB::make(inner).await?;
        let world = World::<DB>::create(inner, options.naive).await?;
        run(world, place.clone(), options).await
    });
    let ended = ended.await;
    let removed = DB::remove(inner).await;
    let ended = ended?;
    removed.map(|()| ended)
}

/// A Ctrl-C, or a polite request to end, drops the run, and with it the children.
async fn interruptible(run: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    #[cfg(unix)]
    let mut term = signal(SignalKind::terminate())?;
    #[cfg(unix)]
    let told_to_end = term.recv();
    #[cfg(not(unix))]
    let told_to_end = std::future::pending::<Option<()>>();
    tokio::select! {
        ended = run => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            eprintln!("shop: interrupted");
            Ok(ExitCode::from(130))
        }
        _ = told_to_end => {
            eprintln!("shop: told to end");
            Ok(ExitCode::from(143))
        }
    }
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
    let hiring = Hiring(Setup {
        place,
        gateway: gateway_address,
        mail: mail_address,
        naive,
    });
    let tally = Schedule::new(hiring, seed).run(&cases).await?;

    let gateway_report = gateway::report(gateway_address).await?;
    mail.say(&mail::Ask::Report).await?;
    let mail_report: mail::Report = mail.hear().await?;
    let verdict = Verdict::reach(&cases, &tally, &world, &gateway_report, &mail_report).await?;
    gateway.stop().await?;
    mail.stop().await?;
    world.close().await;

    let (conclusion, right) = report::conclude(&verdict, naive);
    println!("{}\n{}\n", report::table(&verdict), report::NOTES);
    println!("{}; seed {seed}", conclusion.join("\n"));
    Ok(ExitCode::from(u8::from(!right)))
}
