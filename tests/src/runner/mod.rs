//! Runs a suite, with the tests of what is missing reported as ignored, each with the reason.

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};
use tokio::runtime::Builder;

use crate::need::Need;

mod checks;

/// A test of the suite, ready to run in a world of its own.
pub struct Case {
    /// `topic::name`.
    pub name: String,
    /// Runs it to the end.
    pub run: fn() -> Pin<Box<dyn Future<Output = ()>>>,
    /// What it needs of the machine, besides its database.
    pub needs: Vec<Need>,
}

/// The same cases, which need this besides.
#[must_use]
pub fn needing(need: Need, mut cases: Vec<Case>) -> Vec<Case> {
    for case in &mut cases {
        case.needs.insert(0, need);
    }
    cases
}

/// Runs the cases. `server` is the variable that has to be set for them to run, if any.
#[must_use]
pub fn main(server: Option<&'static str>, cases: Vec<Case>) -> ExitCode {
    let (cases, checks) = on_server(server, cases);
    run(cases, checks)
}

/// The same, each on a runtime of one thread, as `#[tokio::test]` makes it.
#[must_use]
pub fn main_on_one_thread(server: Option<&'static str>, cases: Vec<Case>) -> ExitCode {
    let (cases, checks) = on_server(server, cases);
    run_on(Builder::new_current_thread, cases, checks)
}

fn on_server(server: Option<&'static str>, cases: Vec<Case>) -> (Vec<Case>, Vec<Trial>) {
    let Some(server) = server else {
        return (cases, Vec::new());
    };
    let cases = needing(Need::Server(server), cases);
    let checks = checks::of_what_is_missing(server, cases.len());
    (cases, checks)
}

/// The same for the behaviour suite, whose tests are the same on each database.
#[must_use]
pub fn suite(database: &'static str, server: Option<&'static str>, cases: Vec<Case>) -> ExitCode {
    // Not on the standard output, which tools read lists of tests from.
    eprintln!("the suite on {database}: {} tests", cases.len());
    let names: Vec<_> = cases.iter().map(|case| case.name.clone()).collect();
    let mut checks = vec![checks::of_the_list(database, names)];
    let (cases, of_server) = on_server(server, cases);
    checks.extend(of_server);
    run(cases, checks)
}

/// Runs cases, and `trials` that need nothing. Under `CI=true` whatever is missing is a failure.
#[must_use]
pub fn run(cases: Vec<Case>, trials: Vec<Trial>) -> ExitCode {
    let runtime = || {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(4);
        runtime
    };
    run_on(runtime, cases, trials)
}

fn run_on(runtime: fn() -> Builder, cases: Vec<Case>, trials: Vec<Trial>) -> ExitCode {
    let mut missing: Vec<_> = cases
        .iter()
        .flat_map(|case| &case.needs)
        .filter_map(Need::missing)
        .collect();
    missing.sort_unstable();
    missing.dedup();
    for reason in &missing {
        eprintln!("{reason}: the tests that need it are skipped");
    }
    if !missing.is_empty() && Need::is_ci() {
        eprintln!("… which is a failure under CI=true");
        return ExitCode::FAILURE;
    }
    let cases = cases.into_iter().map(|case| {
        Trial::ignorable_test(case.name, move || {
            if let Some(reason) = case.needs.iter().find_map(Need::missing) {
                return Ok(Completion::ignored_with(reason));
            }
            runtime().enable_all().build()?.block_on((case.run)());
            Ok(Completion::Completed)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), cases.chain(trials).collect()).exit_code()
}

/// Lists the tests of a module, each an `async fn(World<Db>)`: makes its `fn cases()`. A test that is
/// not listed is dead code, which the compiler reports. `crate::db` is the database's module.
#[macro_export]
#[allow(
    clippy::crate_in_macro_def,
    reason = "the suite's own crate decides on the database"
)]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub fn cases() -> Vec<$crate::runner::Case> {
            let topic = module_path!().rsplit("::").next().unwrap_or_default();
            vec![$($crate::runner::Case {
                name: format!("{topic}::{}", stringify!($name)),
                run: || Box::pin(async {
                    let world = $crate::world::World::<crate::db::Db>::fresh().await;
                    $name(world.clone()).await;
                    world.end().await;
                }),
                needs: Vec::new(),
            }),*]
        }
    };
}

/// Makes cases of functions `async fn()` that have no world, each with what it needs.
#[macro_export]
macro_rules! cases {
    ($($need:expr => $name:ident),* $(,)?) => {{
        let topic = module_path!().rsplit("::").next().unwrap_or_default();
        vec![$($crate::runner::Case {
            name: format!("{topic}::{}", stringify!($name)),
            run: || Box::pin($name()),
            needs: vec![$need],
        }),*]
    }};
}
