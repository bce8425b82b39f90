//! The program: what is asked for, done, and told.

use std::process::ExitCode;
use std::time::Duration;

use super::Result;
use super::database::ProofDatabase;
use super::gateway::{Manners, serve};
use super::mutants::try_all;
use super::outages::outages;
use super::server::Server;
use super::soak::{Bounds, soak};
use super::sweep;
use super::worker::{Setup, work};
use crate::model::check_all;

mod asked;
mod figures;

use asked::Asked;
use figures::{in_words, print_outages, print_soak, print_sweep};

/// Runs the program: the proof itself, or one of its processes.
#[must_use]
pub fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut args = std::env::args().skip(1).peekable();
    let done = match args.peek().map(String::as_str) {
        Some("worker") => runtime.block_on(worker(args.skip(1))).map(|()| true),
        Some("gateway") => runtime.block_on(gateway(args.skip(1))).map(|()| true),
        _ => runtime.block_on(async { prove(Asked::read(args)?).await }),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn worker(mut args: impl Iterator<Item = String>) -> Result<()> {
    let database = args.next().ok_or("no database")?;
    let setup: Setup = serde_json::from_str(&args.next().ok_or("no setup")?)?;
    match &*database {
        "sqlite" => work::<sqlx::Sqlite>(setup).await,
        "postgres" => work::<sqlx::Postgres>(setup).await,
        "mysql" => work::<sqlx::MySql>(setup).await,
        other => Err(format!("no database {other}").into()),
    }
}

async fn gateway(mut args: impl Iterator<Item = String>) -> Result<()> {
    let manners: Manners = serde_json::from_str(&args.next().ok_or("no manners")?)?;
    serve(manners).await
}

async fn prove(asked: Asked) -> Result<bool> {
    if asked.list {
        return list(&asked.databases).await.map(|()| true);
    }
    let mut holds = true;
    let share = asked.jobs / asked.databases.len() as u64;
    for database in &asked.databases {
        println!("database: {database}");
        println!("seed: {}", asked.seed);
        holds &= match &**database {
            "postgres" => on::<sqlx::Postgres>(&asked, share).await?,
            "mysql" => on::<sqlx::MySql>(&asked, share).await?,
            _ => on::<sqlx::Sqlite>(&asked, share).await?,
        };
    }
    if asked.mutants {
        holds &= mutants().await?;
    }
    if asked.model > 0 {
        holds &= model(asked.model);
    }
    println!("proof: {}", if holds { "holds" } else { "fails" });
    Ok(holds)
}

async fn list(databases: &[String]) -> Result<()> {
    for database in databases {
        let cases = match &**database {
            "postgres" => sweep::list::<sqlx::Postgres>().await?,
            "mysql" => sweep::list::<sqlx::MySql>().await?,
            _ => sweep::list::<sqlx::Sqlite>().await?,
        };
        cases.iter().for_each(|case| println!("{database}/{case}"));
    }
    Ok(())
}

async fn on<DB: ProofDatabase>(asked: &Asked, jobs: u64) -> Result<bool> {
    let mut holds = true;
    if asked.sweep > 0 || asked.case.is_some() {
        let swept =
            sweep::sweep::<DB>(asked.sweep.max(1), asked.seed, asked.case.as_deref()).await?;
        holds &= print_sweep(&swept, asked.case.is_none());
    }
    if asked.outages > 0
        && let Some(server) = Server::of(DB::CALLED).await?
    {
        holds &= print_outages(&outages::<DB>(server, asked.outages).await?);
    }
    if jobs > 0 {
        let server = Server::of(DB::CALLED).await?;
        let bounds = Bounds {
            jobs,
            time: Duration::from_secs(asked.minutes * 60),
            seed: asked.seed,
            gateway: asked.gateway,
        };
        holds &= print_soak(&soak::<DB>(server, bounds).await?);
    }
    Ok(holds)
}

async fn mutants() -> Result<bool> {
    let tried = try_all().await?;
    let killed = tried.iter().filter(|tried| tried.is_killed()).count();
    for tried in &tried {
        let mutant = &tried.mutant;
        let by: Vec<String> = tried.without.iter().map(in_words).collect();
        match tried.is_killed() {
            true => println!(
                "without {}: breaks \"{}\"",
                mutant.without,
                mutant.breaks.name()
            ),
            false => println!(
                "without {}: lives ({by:?}; with it: {:?})",
                mutant.without, tried.with
            ),
        }
    }
    println!("mutants killed: {killed} of {}", tried.len());
    Ok(killed == tried.len())
}

fn model(workers: usize) -> bool {
    let checked = check_all(workers);
    for model in checked.iter().filter(|model| !model.holds()) {
        println!(
            "model {}: broken {:?}, impossible {:?}",
            model.name, model.broken, model.impossible
        );
    }
    let states: usize = checked.iter().map(|model| model.states).sum();
    println!("model states checked: {states}");
    checked.iter().all(crate::model::Checked::holds)
}
