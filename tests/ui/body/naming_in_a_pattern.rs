//! A name in a pattern is not as names are.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<orderId>")]
async fn charge(conn: &mut SqliteConnection, (orderId, _): (i64, u32)) -> Result<u32, Failure> {
    order_total(conn, orderId).await
}

// Called as: charge(place, (42, 7))
