//! An argument is used after it has moved.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64, name: String) -> Result<u32, Failure> {
    drop(name);
    println!("{name}");
    order_total(conn, order_id).await
}

// Called as: charge(place, 42, String::new())
