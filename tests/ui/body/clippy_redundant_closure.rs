//! Clippy: a closure that only calls.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    Ok(raw_total(conn, order_id).await.map_err(|error| Failure::from(error))?)
}
