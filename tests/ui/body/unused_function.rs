//! A function in the body is not used.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    async fn helper() {}
    order_total(conn, order_id).await
}
