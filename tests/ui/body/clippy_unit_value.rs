//! Clippy: a local for nothing.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let unit = println!("charging");
    let _ = unit;
    order_total(conn, order_id).await
}
