//! Clippy: more arguments than one can tell apart.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64, _a: u8, _b: u8, _c: u8, _d: u8, _e: u8, _f: u8) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

// Called as: charge(place, 42, 1, 2, 3, 4, 5, 6)
