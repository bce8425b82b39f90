//! An argument is not used.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64, note: &str) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

// Called as: charge(place, 42, "")
