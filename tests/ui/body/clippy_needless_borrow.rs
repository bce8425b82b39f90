//! Clippy: a borrow that is taken back.

use idempotent_tests::ui::*;

fn measure(name: &str) -> usize {
    name.len()
}

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let name = String::from("tea");
    println!("{}", measure(&name.as_str()));
    order_total(conn, order_id).await
}
