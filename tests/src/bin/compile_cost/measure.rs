//! The measuring: `cargo check` of one program at a time, nothing else to do; and lines of IR.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use idempotent_tests::project::{Project, workspace};

use crate::sources::{Kind, program};

/// The package, ready to be checked.
pub struct Check {
    project: Project,
}

impl Check {
    /// Makes the package, and checks it once: all dependencies are done then.
    pub fn prepare(functions: usize) -> io::Result<Self> {
        let check = Self {
            project: project("compile_cost", functions)?,
        };
        for kind in Kind::ALL {
            check.once(kind)?;
        }
        Ok(check)
    }

    /// Checks each kind so often, in turns.
    pub fn alternate(&self, rounds: usize) -> io::Result<[Times; 3]> {
        let mut times = [const { Times(Vec::new()) }; 3];
        for round in 0..rounds {
            // Every kind is first as often as the others.
            for turn in 0..Kind::ALL.len() {
                let at = (round + turn) % Kind::ALL.len();
                times[at].0.push(self.once(Kind::ALL[at])?);
            }
        }
        Ok(times)
    }

    fn once(&self, kind: Kind) -> io::Result<Duration> {
        let source = self.project.source(&format!("bin/{}.rs", kind.program()));
        File::options()
            .append(true)
            .open(source)?
            .set_modified(SystemTime::now())?;
        let began = Instant::now();
        cargo(
            &self.project,
            &["check", "--quiet", "--bin", kind.program()],
        )?;
        Ok(began.elapsed())
    }
}

/// What was measured, in the order of the rounds.
pub struct Times(Vec<Duration>);

impl Times {
    /// In milliseconds.
    pub fn median(&self) -> f64 {
        median(self.0.iter().map(|time| time.as_secs_f64() * 1000.0))
    }

    /// The median of what each round took, compared with what the other took in the same round.
    pub fn paired(&self, other: &Self) -> f64 {
        let pairs = self.0.iter().zip(&other.0);
        median(pairs.map(|(this, other)| this.as_secs_f64() / other.as_secs_f64()))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Lines of LLVM IR, of an unoptimized build without debug information.
pub struct Ir;

impl Ir {
    /// What one more function adds: the difference between two sizes, for much is there once.
    pub fn lines_a_function(kind: Kind) -> io::Result<f64> {
        let (few, many) = (30, 90);
        let difference = Self::lines(kind, many)?.saturating_sub(Self::lines(kind, few)?);
        Ok(difference as f64 / (many - few) as f64)
    }

    fn lines(kind: Kind, functions: usize) -> io::Result<usize> {
        let project = project("compile_cost", functions)?;
        let target = project.target().join("ir");
        let output = target.join(format!("{}_{functions}.ll", kind.program()));
        std::fs::create_dir_all(&target)?;
        let emit = format!("--emit=llvm-ir={}", output.display());
        cargo(
            &project,
            &[
                "rustc",
                "--quiet",
                "--bin",
                kind.program(),
                "--",
                &emit,
                "-Ccodegen-units=1",
            ],
        )?;
        count(&output)
    }
}

fn count(path: &Path) -> io::Result<usize> {
    let mut lines = 0;
    for line in BufReader::new(File::open(path)?).lines() {
        // Instructions and labels; not types, declarations and metadata.
        lines += usize::from(line?.starts_with("  "));
    }
    Ok(lines)
}

/// Runs cargo as in a first build: nothing is reused of an older check of the same program.
fn cargo(project: &Project, arguments: &[&str]) -> io::Result<()> {
    let output = project
        .cargo(arguments)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
    }
}

fn project(name: &str, functions: usize) -> io::Result<Project> {
    let runtime = workspace().join("idempotent-runtime");
    let dependencies = format!(
        "idempotent-runtime = {{ path = {runtime:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde_json = \"1\"\n\
         sqlx = {{ version = \"0.9\", default-features = false, features = [\"runtime-tokio\"] }}\n\
         thiserror = \"2\"\n"
    );
    let files = Kind::ALL.map(|kind| {
        let name = format!("bin/{}.rs", kind.program());
        (name, program(kind, functions))
    });
    Project::new(name, &dependencies, &files)
}
