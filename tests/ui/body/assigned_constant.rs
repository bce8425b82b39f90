//! A local is changed without `mut`.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let total = 0;
    total += order_total(conn, order_id).await?;
    Ok(total)
}
