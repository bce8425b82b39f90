//! A borrow outlives what it borrows.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let name;
    {
        let local = String::from("tea");
        name = &local;
    }
    println!("{name}");
    order_total(conn, order_id).await
}
