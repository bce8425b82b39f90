//! Clippy: a clone that nobody needs.
#![warn(clippy::redundant_clone)]

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let name = || {
        let name = String::from("tea");
        name.clone()
    };
    println!("{}", name());
    order_total(conn, order_id).await
}
