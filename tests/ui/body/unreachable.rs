//! Code after a `return`.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    return order_total(conn, order_id).await;
    let _ = Ok::<u32, Failure>(7);
}
