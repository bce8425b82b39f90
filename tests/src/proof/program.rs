//! The command line, and the figures that a run prints: one `name: value` a line.

use std::process::ExitCode;
use std::time::Duration;

use super::Result;
use super::checker::{Promise, Violation};
use super::database::ProofDatabase;
use super::gateway::{Manners, serve};
use super::mutants::try_all;
use super::outages::{Outages, outages};
use super::server::Server;
use super::soak::{Bounds, Keys, Soaked, soak};
use super::sweep::{self, Swept, not_passed, sweep};
use super::worker::{Setup, work};
use crate::model::check_all;

const USAGE: &str = "\
proof --database sqlite|postgres|mysql|all  [options]

  --jobs N      jobs of the soak, over all databases together (20000; 0: no soak)
  --minutes M   how long the soak of each database begins jobs (15)
  --seed S      what all chance comes from (1)
  --gateway G   what the soak's gateway does with keys: honours (the default), ignores, forgets
  --sweep K     of the sweep's cases, one in K (1: all; 0: no sweep)
  --case TEXT   of the sweep's cases, those with TEXT in their name; nothing else
  --list yes    the names of the sweep's cases; nothing else
  --outages K   restarts of a server, at one in K of the points of jobs that perform, and commits
                that are cut off (1; 0: none)
  --mutants yes|no
  --model W     workers of the model (2; 0: no model)";

/// What is asked for.
#[derive(Debug, Clone)]
struct Asked {
    databases: Vec<String>,
    jobs: u64,
    minutes: u64,
    seed: u64,
    gateway: Keys,
    sweep: u64,
    case: Option<String>,
    list: bool,
    outages: u64,
    mutants: bool,
    model: usize,
}

impl Asked {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut asked = Self {
            databases: vec!["sqlite".to_owned()],
            jobs: 20_000,
            minutes: 15,
            seed: 1,
            gateway: Keys::Honours,
            sweep: 1,
            case: None,
            list: false,
            outages: 1,
            mutants: true,
            model: 2,
        };
        while let Some(name) = args.next() {
            let value = args.next().ok_or(USAGE)?;
            match &*name {
                "--database" if value == "all" => {
                    asked.databases = ALL.map(str::to_owned).to_vec();
                }
                "--database" if ALL.contains(&&*value) => asked.databases = vec![value],
                "--jobs" => asked.jobs = value.parse()?,
                "--minutes" => asked.minutes = value.parse()?,
                "--seed" => asked.seed = value.parse()?,
                "--gateway" => {
                    asked.gateway = match &*value {
                        "honours" => Keys::Honours,
                        "ignores" => Keys::Ignores,
                        "forgets" => Keys::Forgets,
                        _ => return Err(USAGE.into()),
                    };
                }
                "--sweep" => asked.sweep = value.parse()?,
                "--case" => asked.case = Some(value),
                "--list" => asked.list = value == "yes",
                "--outages" => asked.outages = value.parse()?,
                "--mutants" => asked.mutants = value == "yes",
                "--model" => asked.model = value.parse()?,
                _ => return Err(USAGE.into()),
            }
        }
        if asked.case.is_some() {
            (asked.jobs, asked.outages, asked.mutants, asked.model) = (0, 0, false, 0);
        }
        Ok(asked)
    }
}

const ALL: [&str; 3] = ["sqlite", "postgres", "mysql"];

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
        let swept = sweep::<DB>(asked.sweep.max(1), asked.seed, asked.case.as_deref()).await?;
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

fn print_sweep(swept: &Swept, whole: bool) -> bool {
    println!("sweep cases: {}", swept.cases);
    println!("sweep points passed: {}", swept.points.len());
    if whole {
        let left: Vec<_> = not_passed(&swept.points);
        println!("sweep points never passed: {}", left.len());
        left.iter().for_each(|point| println!("  {point}"));
    }
    println!("sweep cases not met: {}", swept.missed.len());
    swept.missed.iter().for_each(|case| println!("  {case}"));
    println!("sweep promises broken: {}", swept.broken.len());
    for (case, violation) in &swept.broken {
        println!("  {case}: {}", in_words(violation));
    }
    swept.broken.is_empty()
}

fn print_outages(seen: &Outages) -> bool {
    println!("outage restarts: {}", seen.restarts);
    println!("outage cuts during or before COMMIT: {}", seen.cuts);
    println!("outages not met: {}", seen.missed.len());
    seen.missed.iter().for_each(|case| println!("  {case}"));
    println!("outage promises broken: {}", seen.broken.len());
    for (case, violation) in &seen.broken {
        println!("  {case}: {}", in_words(violation));
    }
    seen.broken.is_empty()
}

fn print_soak(soaked: &Soaked) -> bool {
    let count = |promises: &[Promise]| {
        let broken = soaked.broken.iter();
        broken
            .filter(|found| promises.contains(&found.promise))
            .count()
    };
    let double = count(&[Promise::OneEffect, Promise::OneCharge]);
    let lost = count(&[
        Promise::DoneIffEffect,
        Promise::StillDone,
        Promise::Answered,
    ]);
    let unequal = count(&[Promise::EqualReplies]);
    println!("jobs: {}", soaked.jobs);
    println!("calls: {}", soaked.calls);
    println!("kills: {}", soaked.kills);
    println!("stops: {}", soaked.stops);
    println!("restarts: {}", soaked.restarts);
    println!("cuts: {}", soaked.cuts.0 + soaked.cuts.1);
    println!("cuts during COMMIT: {}", soaked.cuts.1);
    println!("gateway replies lost: {}", soaked.dropped);
    println!("charges repeated: {}", soaked.charged_again);
    println!("double effects: {double}");
    println!("lost effects: {lost}");
    println!("unequal replies: {unequal}");
    println!(
        "other promises broken: {}",
        soaked.broken.len() - double - lost - unequal
    );
    for violation in &soaked.broken {
        println!("  {}", in_words(violation));
    }
    println!(
        "longest takeover: {:.1} s",
        soaked.longest_takeover.as_secs_f64()
    );
    println!("soak took: {:.0} s", soaked.took.as_secs_f64());
    soaked.broken.is_empty()
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
    checked.iter().all(super::super::model::Checked::holds)
}

fn in_words(violation: &Violation) -> String {
    let Violation { promise, key, how } = violation;
    format!("\"{}\": {key}: {how}", promise.name())
}
