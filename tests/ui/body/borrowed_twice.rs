//! A vector is changed while it is borrowed.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let mut names = vec![String::new()];
    let first = &names[0];
    names.push(String::new());
    println!("{first}");
    order_total(conn, order_id).await
}
