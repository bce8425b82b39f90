//! A field that is not there.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let order = Order { id: order_id, amount: 7 };
    let _ = order_total(conn, order.idd).await?;
    Ok(order.amount)
}
