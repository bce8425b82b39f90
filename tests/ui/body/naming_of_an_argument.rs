//! The name of an argument is not as names are.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<OrderId>")]
async fn charge(conn: &mut SqliteConnection, OrderId: i64) -> Result<u32, Failure> {
    order_total(conn, OrderId).await
}
