//! Something deprecated is called.

use idempotent_tests::ui::*;

#[deprecated]
fn old() {}

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    old();
    order_total(conn, order_id).await
}
