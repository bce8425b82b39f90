//! Orders that are reserved, charged and shipped, by workers that are killed between any two steps,
//! and between a step's effect and the record of it:
//!
//! ```sh
//! cargo run --example fulfil                                    # SQLite, in a temporary file
//! cargo run --example fulfil -- --database postgres://user:password@host/database
//! ```
//!
//! `job` is the job; `place` says where workers are killed; `outside` has the payment gateway and the
//! carrier, `warehouse` the database, `worker` the processes. At each place one worker is killed, with
//! an order of its own. Then a fresh process calls the job again, and goes on where the record ends;
//! and another one, which is given the first answer. At the end the effects are counted.

mod job;
mod outside;
mod place;
mod warehouse;
mod worker;

use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum as _};
use comfy_table::{LineStyle, Table, presets::UTF8_HORIZONTAL_ONLY};
use sqlx::{MySql, Postgres, Sqlite};

use outside::{Books, Outside};
use place::{Fate, Place};
use warehouse::{Kind, STOCK, Warehouse};
use worker::Workers;

/// Fulfils orders in three steps, with workers killed between any two; then counts the effects.
#[derive(Debug, Parser)]
#[command(
    name = "fulfil",
    after_help = "Exit status: 0 if every effect is there exactly once, 1 if not, 2 for a wrong command line.",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Cli {
    /// A server in place of SQLite, postgres://… or mysql://…: a fresh database is made on it, and
    /// dropped at the end
    #[arg(long, value_name = "URL", value_parser = warehouse::fresh_on)]
    database: Option<String>,
    #[command(subcommand)]
    role: Option<Role>,
}

/// The child.
#[derive(Debug, Subcommand)]
enum Role {
    /// A worker, which fulfils one order, and is killed at the place
    #[command(hide = true)]
    Worker { order_id: i64, place: Option<Place> },
}

/// How often a call that fails is made again.
const TRIES: u32 = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    if let Some(Role::Worker { order_id, place }) = cli.role {
        let database = worker::database()?;
        let fate = Fate(place);
        match Kind::of(&database)? {
            Kind::Sqlite => worker::work::<Sqlite>(&database, order_id, fate).await?,
            Kind::Postgres => worker::work::<Postgres>(&database, order_id, fate).await?,
            Kind::MySql => worker::work::<MySql>(&database, order_id, fate).await?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir()?;
    let in_a_file = || format!("sqlite:{}/fulfil.db", folder.path().display());
    let database = cli.database.unwrap_or_else(in_a_file);
    let right = match Kind::of(&database)? {
        Kind::Sqlite => run_on::<Sqlite>(&database).await?,
        Kind::Postgres => run_on::<Postgres>(&database).await?,
        Kind::MySql => run_on::<MySql>(&database).await?,
    };
    Ok(ExitCode::from(u8::from(!right)))
}

/// Runs it all in a database that is dropped, however the run ends; says whether all went right.
async fn run_on<DB: Warehouse>(database: &str) -> Result<bool> {
    eprintln!("database {}", warehouse::name(database));
    DB::create_database(database).await?;
    let ended = tokio::select! {
        ended = run::<DB>(database) => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(Into::into).and_then(|()| bail!("interrupted"))
        }
    };
    let removed = DB::remove(database).await;
    let right = ended?;
    removed?;
    Ok(right)
}

async fn run<DB: Warehouse>(database: &str) -> Result<bool> {
    let orders: Vec<(i64, Place)> = (1..).zip(Place::value_variants().iter().copied()).collect();
    let store = DB::open(database).await?;
    let ids: Vec<i64> = orders.iter().map(|(order_id, _)| *order_id).collect();
    DB::lay_out(store.pool(), &ids).await?;
    let books = Books::default();
    let workers = Workers {
        database: database.to_owned(),
        outside: Outside(books.open().await?),
    };

    for (order_id, place) in &orders {
        workers.kill_at(*place, *order_id).await?;
    }
    let mut right = true;
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header([
        "killed",
        "reserved",
        "charged",
        "shipped",
        "closed",
        "asked to charge",
        "to ship",
        "the retry",
    ]);
    for (order_id, place) in orders {
        let retry = call(&workers, order_id).await?;
        let again = call(&workers, order_id).await?;
        let parcel = |said: &str| said.split_once(' ').map(|(_, parcel)| parcel.to_owned());
        ensure!(
            again.starts_with("replayed ") && parcel(&again) == parcel(&retry),
            "order {order_id}: {retry:?}, and then {again:?}"
        );
        let (reserved, closed) = DB::effects(store.pool(), order_id).await?;
        let effects = [
            reserved,
            books.effects("charge", order_id),
            books.effects("ship", order_id),
            closed,
        ];
        right &= effects == [1; 4];
        let asked = ["charge", "ship"].map(|what| books.requests(what, order_id).to_string());
        let counts = effects.iter().map(ToString::to_string).chain(asked);
        let row = [place.words().to_owned()].into_iter().chain(counts);
        table.add_row(row.chain([retry.split(' ').take(1).collect()]));
    }
    let taken = STOCK - DB::left(store.pool()).await?;
    right &= taken == ids.len() as i64;
    store.close().await;
    println!("{table}");
    println!("{taken} pieces off the shelf for {} orders", ids.len());
    println!(
        "{}",
        if right {
            "one effect each"
        } else {
            "NOT one effect each"
        }
    );
    Ok(right)
}

/// Calls the job in fresh processes until it is done, as a queue does. The first one waits until the
/// lease of the killed worker is over.
async fn call(workers: &Workers, order_id: i64) -> Result<String> {
    for _ in 0..TRIES {
        if let Some(said) = workers.finish(order_id).await? {
            return Ok(said);
        }
    }
    bail!("order {order_id} is not done after {TRIES} tries")
}
