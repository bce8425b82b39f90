//! A value is used after it has moved.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let name = String::from("tea");
    drop(name);
    println!("{name}");
    order_total(conn, order_id).await
}
