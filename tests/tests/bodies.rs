//! Mistakes in the body of a job read exactly as in a plain `async fn`.
//!
//! Each file of `ui/body/` is compiled as it stands and without the attribute, and the compiler's
//! messages are compared: text, code, and every place. Once by rustc, once by Clippy; where that is
//! not installed, its half is reported as ignored.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::sync::LazyLock;

use idempotent_tests::diagnostics::body::{self, As, Body};
use idempotent_tests::diagnostics::told::{Message, by_target};
use idempotent_tests::project::{Project, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

/// A line that differs, and why it does.
struct Difference {
    body: &'static str,
    plain: &'static str,
    job: &'static str,
    because: &'static str,
}

const DIFFERENCES: [Difference; 3] = [
    Difference {
        body: "not_send",
        plain: "help[]: within `{async block@src/bin/not_send.rs",
        job: "help[]: within `impl ",
        because: "the compiler names the future that it was looking into: with the attribute that \
                  is the job's, inside which the body's is; the notes lead on to the same place",
    },
    Difference {
        body: "question_mark",
        plain: "From<idempotent_tests::ui::Error>`",
        job: "From<idempotent_runtime::Error>`",
        because: "the compiler says a type by a crate that is in use; the attribute uses the \
                  runtime's",
    },
    Difference {
        body: "self_in_a_function",
        plain: ":6:10-6:16 this function can't have a `self` parameter",
        job: "(in a macro) this function can't have a `self` parameter",
        because: "the name of the function around the body is generated; with the place of the \
                  user's, an editor would find two functions behind it",
    },
];

/// What was told of each program.
type Told = BTreeMap<String, Vec<Message>>;

static BODIES: LazyLock<Vec<Body>> = LazyLock::new(body::all);
static RUSTC: LazyLock<Told> = LazyLock::new(|| told_by("check"));
static CLIPPY: LazyLock<Told> = LazyLock::new(|| told_by("clippy"));

fn main() -> ExitCode {
    let clippy = Command::new(env!("CARGO"))
        .args(["clippy", "--version"])
        .output();
    let has_clippy = clippy.is_ok_and(|output| output.status.success());
    if !has_clippy {
        eprintln!("Clippy is not installed: its tests are skipped");
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            eprintln!("… which is a failure under CI=true");
            return ExitCode::FAILURE;
        }
    }
    let trials = BODIES.iter().flat_map(|body| {
        let (is_clippys, name) = (body.name.starts_with("clippy_"), &body.name);
        let rustc = move || compare(body, &RUSTC, !is_clippys);
        let clippy = move || compare(body, &CLIPPY, true);
        [
            Trial::test(format!("rustc::{name}"), rustc),
            Trial::test(format!("clippy::{name}"), clippy).with_ignored_flag(!has_clippy),
        ]
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Compares what is told with the attribute and without it.
fn compare(body: &Body, told: &Told, something: bool) -> Result<(), Failed> {
    let lines = |kind| lines(body, kind, told);
    let (mut plain, mut job) = (lines(As::Plain), lines(As::Job));
    if plain.is_empty() && something {
        return Err("the file is there for a mistake, and nothing is said of it".into());
    }
    remove_common(&mut plain, &mut job);
    for known in DIFFERENCES.iter().filter(|known| known.body == body.name) {
        let (at_plain, at_job) = (
            plain.iter().position(|line| line.contains(known.plain)),
            job.iter().position(|line| line.contains(known.job)),
        );
        let (Some(at_plain), Some(at_job)) = (at_plain, at_job) else {
            return Err(format!("no longer different, although {}", known.because).into());
        };
        plain.remove(at_plain);
        job.remove(at_job);
    }
    if plain.is_empty() && job.is_empty() {
        return Ok(());
    }
    let plain = plain.iter().map(|line| format!("plain: {line}"));
    let job = job.iter().map(|line| format!("job:   {line}"));
    Err(plain.chain(job).collect::<Vec<_>>().join("\n").into())
}

/// Takes out what both say.
fn remove_common(plain: &mut Vec<String>, job: &mut Vec<String>) {
    plain.retain(|line| {
        let same = job.iter().position(|other| other == line);
        same.map(|at| job.remove(at)).is_none()
    });
}

/// What is told of one program, line by line, with the name that both have.
fn lines(body: &Body, kind: As, told: &Told) -> Vec<String> {
    let target = target(body, kind);
    let messages = told.get(&target).into_iter().flatten();
    let lines = messages.flat_map(|message| message.replaced(&target, &body.name).lines());
    // The name of a file of the compiler's own.
    lines
        .filter(|line| !line.contains("the full name for the type has been written to"))
        .collect()
}

fn target(body: &Body, kind: As) -> String {
    match kind {
        As::Job => format!("job_{}", body.name),
        As::Plain => format!("plain_{}", body.name),
    }
}

/// All programs, compiled by one command of cargo's.
fn told_by(command: &str) -> Told {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| project().expect("a package"));
    let project = &*PROJECT;
    let library = project.cargo(&[command, "--lib", "--quiet"]).output();
    let library = library.expect("cargo runs");
    let errors = String::from_utf8_lossy(&library.stderr);
    assert!(library.status.success(), "the library is right: {errors}");
    let arguments = [command, "--bins", "--keep-going", "--message-format=json"];
    let output = project.cargo(&arguments).output().expect("cargo runs");
    by_target(&output.stdout).expect("messages in JSON")
}

/// A package of all programs, and of what the files share.
fn project() -> std::io::Result<Project> {
    let runtime = workspace().join("idempotent-runtime");
    let dependencies = format!(
        "idempotent-runtime = {{ path = {runtime:?}, features = [\"postgres\"] }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         sqlx = {{ version = \"0.9\", default-features = false, features = [\"runtime-tokio\"] }}\n\
         tempfile = \"3\"\n\
         thiserror = \"2\"\n\
         tokio = {{ version = \"1\", features = [\"rt\"] }}\n"
    );
    let shared = workspace().join("tests/src/ui.rs");
    let library = format!("#[path = {shared:?}]\npub mod ui;\n");
    let mut files = vec![("lib.rs".to_owned(), library)];
    for body in BODIES.iter() {
        for kind in [As::Job, As::Plain] {
            let name = format!("bin/{}.rs", target(body, kind));
            files.push((name, body.program(kind)));
        }
    }
    // The files say `idempotent_tests::ui`, as those beside them do.
    Project::new("idempotent_tests", &dependencies, &files)
}
