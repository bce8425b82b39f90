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

use cli::{Cli, Options, Role, WorkerArgs};
use pipe::Peer;
use schedule::Schedule;
use verdict::Verdict;
use worker::Hiring;
use world::World;

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
            None => interruptible(shop(options)).await,
            Some(Role::Gateway) => gateway::serve().await.map(|()| ExitCode::SUCCESS),
            Some(Role::MailSink) => mail::serve().await.map(|()| ExitCode::SUCCESS),
            Some(Role::Worker(args)) => worker::work(args).await.map(|()| ExitCode::SUCCESS),
        }
    });
    ended.unwrap_or_else(|error| {
        eprintln!("shop: {}", error::in_words(&error));
        ExitCode::FAILURE
    })
}

/// Ctrl-C drops the run, and with it the children and the temporary file.
async fn interruptible(run: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    tokio::select! {
        ended = run => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            eprintln!("shop: interrupted");
            Ok(ExitCode::from(130))
        }
    }
}

async fn shop(options: Options) -> Result<ExitCode> {
    let Options {
        naive,
        db,
        jobs,
        seed,
    } = options;
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    eprintln!("seed {seed}");
    // Removed when this function ends, in whatever way.
    let scratch = tempfile::tempdir().context("no room for a temporary file")?;
    let db = db.unwrap_or_else(|| scratch.path().join("shop.db"));
    let world = World::create(&db, naive).await?;
    let cases = world.seed(jobs).await?;

    let mut gateway = Peer::start("payment gateway", ["gateway".into()])?;
    let gateway_address: SocketAddr = gateway.hear().await?;
    let mut mail = Peer::start("mail sink", ["mail-sink".into()])?;
    let mail_address: SocketAddr = mail.hear().await?;
    let hiring = Hiring(WorkerArgs {
        db,
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
