//! A `mut` of an argument is not needed.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, mut order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}
