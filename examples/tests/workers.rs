//! Runs the workers of an existing queue as a person would, but fewer orders: on SQLite, and on the
//! servers that the environment names, where nothing may be left of it.
//!
//! On a harness of its own, for only that can report a test as ignored where its server is missing.

#[allow(dead_code)] // the shop uses the rest
mod common;
#[allow(dead_code)] // the shop uses the rest
mod server;

use std::process::{ExitCode, Output};

use libtest_mimic::{Arguments, Trial};
use redis::Commands as _;

use common::{example, line};
use server::{Kind, Server};

fn main() -> ExitCode {
    let mut trials = vec![
        Trial::test("sqlite::every_effect_is_there_once", || {
            every_effect_is_there_once(&[]);
            Ok(())
        }),
        Trial::test("sqlite::handlers_by_hand_double_their_effects", || {
            handlers_by_hand_double_their_effects(&[]);
            Ok(())
        }),
        Trial::test("wrong_input_gives_one_clear_error", || {
            wrong_input_gives_one_clear_error();
            Ok(())
        }),
    ];
    let mut missing = false;
    for (name, variable, left) in [
        (
            "postgres",
            "IDEMPOTENT_TEST_POSTGRES_URL",
            left_on_postgres as Left,
        ),
        ("redis", "IDEMPOTENT_TEST_REDIS_URL", left_on_redis as Left),
    ] {
        let url = std::env::var(variable).ok();
        if url.is_none() {
            eprintln!("{variable} is not set: the workers' tests on {name} are skipped");
            missing = true;
        }
        for (test, run) in [
            (
                "every_effect_is_there_once",
                every_effect_is_there_once as Run,
            ),
            (
                "handlers_by_hand_double_their_effects",
                handlers_by_hand_double_their_effects as Run,
            ),
        ] {
            let url = url.clone();
            let ignored = url.is_none();
            let trial = Trial::test(format!("{name}::{test}"), move || {
                let url = url.ok_or(format!("{variable} is not set"))?;
                let said = run(&["--queue", &url]);
                assert_eq!(left(&url, queue(&said)), 0, "{said}");
                Ok(())
            });
            trials.push(trial.with_ignored_flag(ignored));
        }
    }
    if missing && std::env::var("CI").is_ok_and(|ci| ci == "true") {
        eprintln!("… which is a failure under CI=true");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs the workers, and gives what they said on the way.
type Run = fn(&[&str]) -> String;
/// How much is left of a queue on a server.
type Left = fn(&str, &str) -> usize;

fn every_effect_is_there_once(place: &[&str]) -> String {
    let run = workers(&[place, &["--orders", "6"]].concat());
    let (table, errors) = words(&run);
    assert!(run.status.success(), "{}\n{table}\n{errors}", run.status);

    assert_eq!(line(&table, "effects in the database"), [6; 2], "{table}");
    assert_eq!(line(&table, "charges at the gateway"), [6], "{table}");
    assert_eq!(line(&table, "workers killed"), [2; 2], "{table}");
    // Two that nobody can do, twice, and each order again with another amount.
    assert_eq!(line(&table, "jobs pushed"), [22, 14], "{table}");
    assert_eq!(line(&table, "given up"), [8, 2], "{table}");
    assert_eq!(line(&table, "done"), [14, 12], "{table}");
    let replayed = line(&table, "replayed");
    assert!(replayed.iter().all(|&count| count >= 4), "{table}");
    assert_eq!(
        table.lines().last(),
        Some("every effect is there exactly once")
    );
    errors
}

fn handlers_by_hand_double_their_effects(place: &[&str]) -> String {
    let run = workers(&[place, &["--orders", "6", "--naive"]].concat());
    let (table, errors) = words(&run);
    assert!(run.status.success(), "{}\n{table}\n{errors}", run.status);

    // Killed between the effect and its mark, and then run again: twice, however the rest went.
    let [charges] = line(&table, "charges at the gateway")[..] else {
        panic!("{table}")
    };
    assert!(charges >= 8, "{table}");
    let last = table.lines().last().expect("a last line");
    assert!(
        last.starts_with("naive: ") && !last.starts_with("naive: 0 "),
        "{last}"
    );
    errors
}

fn wrong_input_gives_one_clear_error() {
    for (args, status, says) in [
        (["--orders", "0"], 2, "--orders"),
        (["--queue", "amqp://here"], 2, "redis://"),
        (["--queue", "postgres://127.0.0.1:1"], 1, "cannot make"),
    ] {
        let run = workers(&args);
        let (_, errors) = words(&run);
        assert_eq!(run.status.code(), Some(status), "{errors}");
        assert!(errors.contains(says), "{errors}");
    }
}

fn left_on_postgres(url: &str, queue: &str) -> usize {
    let server = Server {
        kind: Kind::Postgres,
        url: url.to_owned(),
    };
    usize::from(server.has(queue))
}

fn left_on_redis(url: &str, queue: &str) -> usize {
    let client = redis::Client::open(url).expect("a URL of Redis");
    let mut connection = client.get_connection().expect("the server of the tests");
    let keys: Vec<String> = connection.keys(format!("*{queue}*")).expect("keys");
    let listed: Vec<String> = connection
        .zrange("core:apalis:queues:list", 0, -1)
        .expect("the list of queues");
    let listed = listed.iter().filter(|name| name.contains(queue));
    keys.len() + listed.count()
}

fn workers(args: &[&str]) -> Output {
    let mut program = example("workers");
    program.args(args).output().expect("the workers run")
}

fn words(run: &Output) -> (String, String) {
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (words(&run.stdout), words(&run.stderr))
}

/// The name of the run's own queue, which it says first.
fn queue(said: &str) -> &str {
    let mut names = said.lines().filter_map(|line| line.strip_prefix("queue "));
    names
        .next()
        .unwrap_or_else(|| panic!("no name in {said:?}"))
}
