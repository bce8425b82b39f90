//! Clippy: a `?` inside `Ok`.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    Ok(order_total(conn, order_id).await?)
}
