//! What the runner shows of itself: that nothing is passed over in silence.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};

use crate::tables::{exceptions, sources};

/// Without its server, every one of `cases` is reported as ignored, and told why; under `CI=true`
/// that is a failure. Shown by this very program, run again without the variable.
pub fn of_what_is_missing(server: &'static str, cases: usize) -> Vec<Trial> {
    vec![
        Trial::test("runner::without_a_server_all_is_ignored", move || {
            let told = again(server, &[])?;
            let said = String::from_utf8_lossy(&told.stdout).into_owned();
            let closing = format!("test result: ok. 0 passed; 0 failed; {cases} ignored;");
            let reasons = said.matches(&format!("({server} is not set)")).count();
            let holds = told.status.success() && said.contains(&closing) && reasons == cases;
            holds.then_some(()).ok_or_else(|| {
                Failed::from(format!("not \"{closing}\", each with a reason:\n{said}"))
            })
        }),
        Trial::test("runner::without_a_server_ci_fails", move || {
            let told = again(server, &[("CI", "true")])?;
            match told.status.success() {
                true => Err("a missing server has passed under CI=true".into()),
                false => Ok(()),
            }
        }),
    ]
}

/// Runs this program again, without the server and without these checks.
fn again(server: &str, variables: &[(&str, &str)]) -> std::io::Result<Output> {
    Command::new(std::env::current_exe()?)
        .args(["--skip", "runner::"])
        .env_remove(server)
        .env_remove("CI")
        .envs(variables.iter().copied())
        .output()
}

/// The suite that was compiled for this database is all that its sources list, but for the
/// exceptions that are written down. As this holds for each of them, the suites are equal but for
/// those.
pub fn of_the_list(database: &'static str, compiled: Vec<String>) -> Trial {
    Trial::test("runner::the_suite_is_whole", move || {
        let compiled: BTreeSet<String> = compiled.into_iter().collect();
        let mut listed = sources::suite();
        for exception in exceptions::read() {
            if exception.database == database {
                listed.remove(&exception.test);
            }
        }
        let here: Vec<_> = compiled.difference(&listed).collect();
        let not_here: Vec<_> = listed.difference(&compiled).collect();
        match here.is_empty() && not_here.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "on {database}: compiled but not listed: {here:?}; listed but not compiled: \
                 {not_here:?} (an exception goes to tests/EXCEPTIONS.md, with a reason)"
            )
            .into()),
        }
    })
}
