//! An error that does not convert.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let number: u8 = "7".parse()?;
    Ok(order_total(conn, order_id).await? + u32::from(number))
}
