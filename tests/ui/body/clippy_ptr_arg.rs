//! Clippy: a reference to a vector.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64, names: &Vec<String>) -> Result<u32, Failure> {
    println!("{}", names.len());
    order_total(conn, order_id).await
}

// Called as: charge(place, 42, &Vec::new())
