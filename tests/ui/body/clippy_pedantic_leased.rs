//! Clippy: all that it may say, of a leased job with a guard.
#![warn(clippy::pedantic, clippy::nursery)]
#![allow(clippy::wildcard_imports)]

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>", guard = paid, lease = 30s)]
async fn charge(job: &mut Job<'_, Sqlite>, order_id: i64) -> Result<u32, Failure> {
    let total = gateway::charge(job.key(), order_id).await?;
    println!("{}", total);
    Ok(total)
}
