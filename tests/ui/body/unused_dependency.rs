//! A dependency is not used.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, gateway: &Gateway, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

// Called as: charge(place, &Gateway, 42)
