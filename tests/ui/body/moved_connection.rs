//! The connection is given away, and used again.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let given = conn;
    let first = order_total(given, order_id).await?;
    Ok(first + order_total(conn, order_id).await?)
}
