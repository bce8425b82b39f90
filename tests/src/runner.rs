//! Runs a suite, with the tests of a missing server reported as ignored.

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// A test of the suite, ready to run in a world of its own.
pub struct Case {
    /// `topic::name`.
    pub name: String,
    /// Runs it to the end.
    pub run: fn() -> Pin<Box<dyn Future<Output = ()>>>,
}

/// Runs the cases. `server` is the variable that has to be set for them to run, if any; under
/// `CI=true` a missing one is a failure.
#[must_use]
pub fn main(server: Option<&str>, cases: Vec<Case>) -> ExitCode {
    let missing = server.filter(|name| std::env::var_os(name).is_none());
    if let Some(name) = missing {
        eprintln!("{name} is not set: these tests are skipped");
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            eprintln!("… which is a failure under CI=true");
            return ExitCode::FAILURE;
        }
    }
    let trials = cases
        .into_iter()
        .map(|case| {
            Trial::test(case.name, move || {
                tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(4)
                    .enable_all()
                    .build()?
                    .block_on((case.run)());
                Ok(())
            })
            .with_ignored_flag(missing.is_some())
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
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
            }),*]
        }
    };
}
