//! The command line: what a person may ask for, and the hidden roles in which
//! the program starts itself again.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::world::Place;

/// Runs a shop's jobs again and again, many at once, and kills its workers in
/// the middle; then counts the effects.
///
/// Each of four jobs (send_welcome_email, charge_payment, create_invoice,
/// provision_account) is run over a fresh set of records in three ways: one
/// after another, at once from several worker processes, and with workers killed
/// (SIGKILL) between the effect and its completion and at random points. All are
/// then retried until they are done, and every effect must be there exactly
/// once.
#[derive(Debug, Parser)]
#[command(
    name = "shop",
    after_help = "Exit status: 0 if every effect is there exactly once (with --naive: if the damage \
                  was shown), 1 if not, or if no worker was killed, 2 for a wrong command line, 130 \
                  if interrupted, 143 if told to end.",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(flatten)]
    pub options: Options,
    #[command(subcommand)]
    pub role: Option<Role>,
}

#[derive(Debug, Args)]
pub struct Options {
    /// Run the same schedule over the same jobs written by hand, and show the damage
    #[arg(long)]
    pub naive: bool,
    /// Print what the runtime measured in all processes, as Prometheus would scrape it
    #[arg(long, conflicts_with = "naive")]
    pub metrics: bool,
    /// The SQLite file; made if it is not there [default: a temporary one]
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// A server in place of SQLite, postgres://… or mysql://…: a fresh database is made on it, and
    /// dropped at the end
    #[arg(long, value_name = "URL", conflicts_with = "db")]
    pub database: Option<Place>,
    /// How many of each job, in each of the three ways
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub jobs: u32,
    /// Chooses where workers are killed [default: a random one, printed]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The children. Each talks to its parent in lines of JSON, and ends when its
/// standard input does, so that none outlives the parent however that ends.
#[derive(Debug, Subcommand)]
pub enum Role {
    /// The payment gateway
    #[command(hide = true)]
    Gateway,
    /// The mail server
    #[command(hide = true)]
    MailSink,
    /// A worker, which runs the jobs that it is given
    #[command(hide = true)]
    Worker,
}
