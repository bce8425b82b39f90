//! The command line: what a person may ask for, and the hidden roles in which
//! the program starts itself again.

use clap::{Args, Parser, Subcommand};

use crate::queue::Queue;

/// Runs four worker processes on an existing queue (apalis), with jobs that come
/// twice, workers that are killed in the middle, and jobs that nobody can do; then
/// counts the effects.
#[derive(Debug, Parser)]
#[command(
    name = "workers",
    after_help = "Exit status: 0 if every effect is there exactly once (with --naive: if the damage \
                  was shown), 1 if not, 2 for a wrong command line, 130 if interrupted, 143 if told \
                  to end.",
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
    /// Run the same over the same handlers written by hand, and show the damage
    #[arg(long)]
    pub naive: bool,
    /// Where the queue is, postgres://… or redis://…: a database, or a name, of its own there,
    /// which is removed at the end [default: a temporary SQLite file]
    #[arg(long, value_name = "URL")]
    pub queue: Option<Queue>,
    /// How many orders, each to be charged and awarded
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(3..=500))]
    pub orders: u32,
}

/// The children. Each talks to its parent in lines of JSON, and ends when its
/// standard input does, so that none outlives the parent however that ends.
#[derive(Debug, Subcommand)]
pub enum Role {
    /// The payment gateway
    #[command(hide = true)]
    Gateway,
    /// A worker of the queue
    #[command(hide = true)]
    Worker,
}
