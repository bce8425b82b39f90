//! The command `idempotent`: what an operator does with a ledger.
//!
//! - [`args`]: what can be said on the command line.
//! - [`database`]: from a URL to a store.
//! - [`read`]: `list`, `show`, `stats`; [`change`]: `migrate`, `resolve`, `forget`, `purge`.
//! - [`table`], [`json`] and [`time`]: how things are written.
//! - [`failure`]: how the command fails, and its exit codes.

mod args;
mod change;
mod database;
mod failure;
mod json;
mod read;
mod table;
mod time;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use database::Database;
use failure::Failure;
use idempotent_runtime::{Backend, Store};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

async fn run(args: Args) -> Result<(), Failure> {
    let may_create = matches!(args.command, Command::Migrate);
    let database = args.database.as_deref().ok_or(Failure::NoDatabase)?;
    match database::open(database, may_create).await? {
        #[cfg(feature = "sqlite")]
        Database::Sqlite(store) => on(&store, args).await,
        #[cfg(feature = "postgres")]
        Database::Postgres(store) => on(&store, args).await,
        #[cfg(feature = "mysql")]
        Database::MySql(store) => on(&store, args).await,
    }
}

async fn on<DB: Backend>(store: &Store<DB>, args: Args) -> Result<(), Failure> {
    let json = args.json;
    match args.command {
        Command::Migrate => change::migrate(store, json).await,
        Command::List(list) => read::list(store, &list, json).await,
        Command::Show(show) => read::show(store, &show, json).await,
        Command::Stats => read::stats(store, json).await,
        Command::Resolve(resolve) => change::resolve(store, resolve, json).await,
        Command::Forget(forget) => change::forget(store, &forget, json).await,
        Command::Purge(purge) => change::purge(store, &purge, json).await,
    }
}
