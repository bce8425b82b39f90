//! Clippy: a lifetime that could be left out.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge<'c>(conn: &'c mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}
