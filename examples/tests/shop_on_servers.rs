//! Runs the shop and the other programs on the servers that the environment names, and sees that
//! nothing is left on them.
//!
//! On a harness of its own, for only that can report a test as ignored where its server is missing.

mod common;
mod server;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use common::{each_effect_once, each_order_once, effects_twice, example, says};
use server::{Kind, Server};

fn main() -> ExitCode {
    let mut trials = vec![Trial::test(
        "runner::without_servers_all_is_ignored",
        without_servers_all_is_ignored,
    )];
    let mut missing = false;
    for (name, kind, variable) in SERVERS {
        let url = std::env::var(variable).ok();
        if url.is_none() {
            eprintln!("{variable} is not set: the programs' tests on {name} are skipped");
            missing = true;
        }
        for (test, run) in TESTS {
            let url = url.clone();
            trials.push(Trial::ignorable_test(
                format!("{name}::{test}"),
                move || {
                    let Some(url) = url else {
                        return Ok(Completion::ignored_with(format!("{variable} is not set")));
                    };
                    run(&Server { kind, url });
                    Ok(Completion::Completed)
                },
            ));
        }
    }
    if missing && std::env::var("CI").is_ok_and(|ci| ci == "true") {
        eprintln!("… which is a failure under CI=true");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Shown by this very program, run again without the variables.
fn without_servers_all_is_ignored() -> Result<(), Failed> {
    let mut again = Command::new(std::env::current_exe()?);
    again.args(["--skip", "runner::"]).env_remove("CI");
    for (_, _, variable) in SERVERS {
        again.env_remove(variable);
    }
    let told = again.output()?;
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    let closing = format!(
        "test result: ok. 0 passed; 0 failed; {} ignored;",
        SERVERS.len() * TESTS.len()
    );
    if !told.status.success() || !said.contains(&closing) {
        return Err(format!("not \"{closing}\":\n{said}").into());
    }
    match again.env("CI", "true").output()?.status.success() {
        true => Err("missing servers have passed under CI=true".into()),
        false => Ok(()),
    }
}

const SERVERS: [(&str, Kind, &str); 2] = [
    ("postgres", Kind::Postgres, "IDEMPOTENT_TEST_POSTGRES_URL"),
    ("mysql", Kind::MySql, "IDEMPOTENT_TEST_MYSQL_URL"),
];

type Test = fn(&Server);

const TESTS: [(&str, Test); 5] = [
    (
        "every_effect_is_there_exactly_once",
        every_effect_is_there_exactly_once,
    ),
    (
        "jobs_without_the_attribute_double_their_effects",
        jobs_without_the_attribute_double_their_effects,
    ),
    (
        "a_retry_goes_on_where_the_killed_worker_stopped",
        a_retry_goes_on_where_the_killed_worker_stopped,
    ),
    (
        "a_job_is_generic_over_its_database",
        a_job_is_generic_over_its_database,
    ),
    (
        "a_run_that_is_told_to_end_drops_its_database",
        a_run_that_is_told_to_end_drops_its_database,
    ),
];

fn every_effect_is_there_exactly_once(server: &Server) {
    let said = each_effect_once(&["--database", &server.url]);
    assert!(!server.has(database(&said)), "{said}");
}

fn jobs_without_the_attribute_double_their_effects(server: &Server) {
    let said = effects_twice(&["--database", &server.url]);
    assert!(!server.has(database(&said)), "{said}");
}

fn a_retry_goes_on_where_the_killed_worker_stopped(server: &Server) {
    let said = each_order_once(&["--database", &server.url]);
    assert!(!server.has(database(&said)), "{said}");
}

fn a_job_is_generic_over_its_database(server: &Server) {
    let database = server.database();
    let on = match server.kind {
        Kind::Postgres => "(\"paid on PostgreSQL\")",
        Kind::MySql => "(\"paid on MySQL\")",
    };
    says(
        example("any_database").arg(&database.url),
        &["Performed", on, "Replayed", on, "Skipped(Missing)"],
    );
}

#[cfg(not(unix))]
fn a_run_that_is_told_to_end_drops_its_database(_: &Server) {}

/// In the middle, with workers at it.
#[cfg(unix)]
fn a_run_that_is_told_to_end_drops_its_database(server: &Server) {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let mut shop = example("shop")
        .args(["--jobs", "1000", "--database", &server.url])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the shop runs");
    let lines = BufReader::new(shop.stderr.take().expect("a pipe")).lines();
    let mut said = String::new();
    // The seed is said when the database is there.
    for line in lines {
        said += &line.expect("words");
        said.push('\n');
        if said.contains("seed ") {
            break;
        }
    }
    let database = database(&said);
    // Two of its own, and a worker's.
    while server.connections(database) < 3 {
        assert!(shop.try_wait().expect("a child").is_none(), "{said}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told = Command::new("kill").arg(shop.id().to_string()).status();
    assert!(told.expect("kill runs").success());
    let status = shop.wait().expect("the shop ends");
    assert_eq!(status.code(), Some(143), "{said}");
    assert!(!server.has(database), "{said}");
}

/// The name of the run's own database, which it says first.
fn database(said: &str) -> &str {
    let mut names = said
        .lines()
        .filter_map(|line| line.strip_prefix("database "));
    names
        .next()
        .unwrap_or_else(|| panic!("no name in {said:?}"))
}
