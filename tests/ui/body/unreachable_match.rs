//! A case that is never taken.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    match order_total(conn, order_id).await {
        other => other,
        Ok(total) => Ok(total),
    }
}
