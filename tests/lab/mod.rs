//! The lab's own tests: written once, compiled for each database.

mod outside;
mod shop;
mod steps;
mod trouble;
mod wrong;

use idempotent_tests::runner::Case;

/// Lists the tests of a module, each an `async fn` of a `Result`: makes its `fn cases()`.
macro_rules! list {
    ($($name:ident),* $(,)?) => {
        pub fn cases() -> Vec<idempotent_tests::runner::Case> {
            let topic = module_path!().rsplit("::").next().unwrap_or_default();
            vec![$(idempotent_tests::runner::Case {
                name: format!("{topic}::{}", stringify!($name)),
                run: || Box::pin(async { $name().await.expect("the lab can judge") }),
                needs: Vec::new(),
            }),*]
        }
    };
}
use list;

pub fn cases() -> Vec<Case> {
    [
        shop::cases(),
        steps::cases(),
        trouble::cases(),
        wrong::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
