//! A type that nothing says.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let names = Vec::new();
    let _ = names.len();
    order_total(conn, order_id).await
}
