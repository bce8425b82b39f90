//! What to measure, from the command line.

use std::path::PathBuf;

/// The options of one run.
#[derive(Debug)]
pub(crate) struct Options {
    /// `sqlite`, or a server's URL.
    pub(crate) database: String,
    /// Jobs in a round.
    pub(crate) jobs: usize,
    /// Pairs of rounds.
    pub(crate) rounds: usize,
    /// How many tasks run at once.
    pub(crate) tasks: Vec<usize>,
    /// How many finished keys the ledger has before.
    pub(crate) sizes: Vec<u64>,
    /// Where the plots go, if anywhere.
    pub(crate) plots: Option<PathBuf>,
    /// Only the cases whose name contains this.
    pub(crate) only: String,
}

const USAGE: &str = "\
throughput --database sqlite|postgres://…|mysql://… [--quick] [--jobs N] [--rounds N]
           [--tasks 1,8,64] [--sizes 1000,100000,1000000] [--only NAME] [--plots DIR]";

impl Options {
    pub(crate) fn from_args() -> anyhow::Result<Self> {
        let mut options = Self {
            database: "sqlite".to_owned(),
            jobs: 400,
            rounds: 15,
            tasks: vec![1, 8, 64],
            sizes: vec![1_000, 100_000, 1_000_000],
            plots: None,
            only: String::new(),
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || {
                args.next()
                    .ok_or_else(|| anyhow::anyhow!("{arg} takes a value\n{USAGE}"))
            };
            match &*arg {
                "--database" => options.database = value()?,
                "--jobs" => options.jobs = value()?.parse()?,
                "--rounds" => options.rounds = value()?.parse()?,
                "--tasks" => options.tasks = list(&value()?)?,
                "--sizes" => options.sizes = list(&value()?)?,
                "--only" => options.only = value()?,
                "--plots" => options.plots = Some(value()?.into()),
                "--quick" => {
                    options.jobs = 100;
                    options.rounds = 5;
                    options.sizes = vec![1_000, 20_000];
                }
                // What `cargo bench` passes by itself.
                "--bench" => {}
                other => anyhow::bail!("`{other}` is not an option\n{USAGE}"),
            }
        }
        Ok(options)
    }

    pub(crate) fn wants(&self, case: &str) -> bool {
        case.contains(&self.only)
    }
}

fn list<T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    text: &str,
) -> anyhow::Result<Vec<T>> {
    text.split(',')
        .map(|item| item.trim().parse().map_err(anyhow::Error::from))
        .collect()
}
