//! The worker's jobs, and how they are called.

use std::fmt::Debug;

use idempotent_runtime::{Outcome, SkipReason, Store};
use idempotent_tests::world::TestDatabase as _;

use super::db;
use crate::outside::Outside;
use work::Failure;

mod deploys;
mod work;

/// Answers calls until the test lets go.
pub async fn serve(url: &str, outside: &Outside) {
    let store = Store::new(db::Db::pool(url, 4).await);
    outside.say("ready");
    loop {
        let line = outside.hear().await;
        let (job, argument) = line.split_once(' ').expect("a job and its argument");
        let id: i64 = argument.parse().expect("a number");
        outside.at("called").await;
        let answer = call(&store, outside, job, id).await;
        outside.at("answered").await;
        outside.say(&answer);
    }
}

async fn call(store: &Store<db::Db>, outside: &Outside, job: &str, id: i64) -> String {
    match job {
        "pay" => answer(work::pay(store, outside, id).await),
        "charge" => answer(work::charge(store, outside, id).await),
        "brief" => answer(work::brief(store, outside, id).await),
        "write" => answer(work::write(store, id).await),
        "write_125" => answer_many(store, id).await,
        "moved_before" => answer(deploys::before::charge(store, outside, id).await),
        "moved_after" => answer(deploys::after::charge(store, outside, id).await),
        "renamed" => answer(deploys::after::collect(store, outside, id).await),
        "report_1" => answer(deploys::report_1(store, id).await),
        "report_2" => answer(deploys::report_2(store, id).await),
        "report_3" => answer(deploys::report_3(store, id).await),
        other => panic!("no job is called {other}"),
    }
}

/// Writes 125 rows, each by a job of its own, as fast as it can.
async fn answer_many(store: &Store<db::Db>, first: i64) -> String {
    for id in first..first + 125 {
        if let Err(error) = work::write(store, id).await {
            return answer::<i64, idempotent_runtime::Never>(Err(error));
        }
    }
    "done performed 125".to_owned()
}

/// `done OUTCOME VALUE`, or `failed KIND RETRYABLE MESSAGE`.
fn answer<T: Debug, S: SkipReason>(result: Result<Outcome<T, S>, Failure>) -> String {
    match result {
        Ok(Outcome::Performed(value)) => format!("done performed {value:?}"),
        Ok(Outcome::Replayed(value)) => format!("done replayed {value:?}"),
        Ok(Outcome::Skipped(why)) => format!("done skipped {}", why.reason()),
        Err(Failure::Idempotent(error)) => {
            let kind = format!("{error:?}");
            let kind = kind.split(' ').next().unwrap_or_default();
            format!("failed {kind} {} {error}", error.is_retryable())
        }
        Err(Failure::Database(error)) => format!("failed sqlx false {error}"),
    }
}
