//! What can be said on the command line.

use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand};
use idempotent_runtime::operators::{DEFAULT_LIMIT, KeyState};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the database failed, or cannot be reached
  2  the command line is wrong
  3  there is no such key
  4  refused: the answer was no, or the key is not in a state for it";

/// Lists, shows, resolves and forgets the keys of idempotent jobs.
///
/// Results are data of the application: they are shown only where `--result` asks for them.
#[derive(Debug, Parser)]
#[command(name = "idempotent", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// The database, as `sqlite:PATH`, `postgres://…` or `mysql://…`
    ///
    /// Better given as the environment variable where it has a password: other users of a machine
    /// can read command lines.
    #[arg(
        long,
        short,
        global = true,
        env = "DATABASE_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) database: Option<String>,

    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install or upgrade the ledger's tables
    Migrate,
    /// List keys, in their order
    List(List),
    /// Show one key: its state, attempts, times, holder and steps
    Show(Show),
    /// Count the keys by job and state
    Stats,
    /// Decide on a key that is in doubt, or was left unfinished
    Resolve(Resolve),
    /// Forget a key and its steps, as if it had never been used
    Forget(Forget),
    /// Forget the finished keys whose retention has passed
    Purge(Purge),
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Only keys in this state: running, lapsed, done, expired or in-doubt (can be repeated)
    #[arg(long, short, value_name = "STATE")]
    pub(crate) status: Vec<KeyState>,
    /// Only keys of this job
    #[arg(long, short)]
    pub(crate) job: Option<String>,
    /// Only keys that begin so
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    /// Only keys whose first attempt began at least so long ago (such as 90s, 24h, 30d)
    #[arg(long, value_name = "AGE", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,
    /// Only keys whose first attempt began at most so long ago
    #[arg(long, value_name = "AGE", value_parser = duration)]
    pub(crate) newer_than: Option<Duration>,
    /// Only keys after this one: the last of a page, to list the next
    #[arg(long, value_name = "KEY")]
    pub(crate) after: Option<String>,
    /// At most so many keys
    #[arg(long, short = 'n', default_value_t = DEFAULT_LIMIT)]
    pub(crate) limit: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The key, as logs and errors show it
    pub(crate) key: String,
    /// Show the stored results too
    #[arg(long)]
    pub(crate) result: bool,
}

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("resolution").required(true))]
pub(crate) struct Resolve {
    /// The key, as logs and errors show it
    pub(crate) key: String,
    /// The work was done, with this result: JSON, or `-` to read it from the standard input
    #[arg(long, value_name = "JSON", group = "resolution")]
    pub(crate) complete: Option<String>,
    /// Nothing was done: forget the key and its steps
    #[arg(long, group = "resolution")]
    pub(crate) forget: bool,
    /// Let the next call run it again, with the same key and the recorded steps
    #[arg(long, group = "resolution")]
    pub(crate) run_again: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Forget {
    /// The key, as logs and errors show it
    pub(crate) key: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Purge {
    /// Count what would be forgotten, and forget nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|problem| problem.to_string())
}
