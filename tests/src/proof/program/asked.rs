//! The command line.

use crate::proof::Result;
use crate::proof::soak::Keys;

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
pub(super) struct Asked {
    pub(super) databases: Vec<String>,
    pub(super) jobs: u64,
    pub(super) minutes: u64,
    pub(super) seed: u64,
    pub(super) gateway: Keys,
    pub(super) sweep: u64,
    pub(super) case: Option<String>,
    pub(super) list: bool,
    pub(super) outages: u64,
    pub(super) mutants: bool,
    pub(super) model: usize,
}

impl Asked {
    pub(super) fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
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
