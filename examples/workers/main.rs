//! Workers of an existing queue, whose jobs come twice and who are killed in the
//! middle: `cargo run --example workers`.
//!
//! The queue is [apalis](https://docs.rs/apalis), on SQLite; with `--queue URL` on
//! PostgreSQL or Redis. `jobs` has the two handlers, annotated as they stand;
//! `naive` the same written by hand (`-- --naive`). `settle` is what a queue has to
//! be told of an error. `books` is the shop's own database, `gateway` the outside
//! world. `crew` keeps four worker processes at work, and kills some; `verdict`
//! counts, and `report` prints it.
//!
//! All processes are this one program, in the roles that `cli` names.

mod app;
mod books;
mod cli;
mod crew;
#[path = "../shop/gateway/mod.rs"]
mod gateway;
#[path = "../shop/interrupt.rs"]
mod interrupt;
mod jobs;
mod naive;
mod payload;
#[path = "../shop/pipe.rs"]
mod pipe;
mod points;
mod queue;
mod report;
mod run;
mod settle;
mod tally;
mod verdict;
#[path = "../shop/words.rs"]
mod words;
mod worker;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Role};

fn main() -> ExitCode {
    let Cli { options, role } = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("workers: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(async {
        match role {
            None => run::run(&options).await,
            Some(Role::Gateway) => gateway::serve().await.map(|()| ExitCode::SUCCESS),
            Some(Role::Worker) => worker::work().await.map(|()| ExitCode::SUCCESS),
        }
    });
    ended.unwrap_or_else(|error| {
        eprintln!("workers: {}", words::in_words(&error));
        ExitCode::FAILURE
    })
}
