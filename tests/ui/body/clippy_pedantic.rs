//! Clippy: all that it may say.
#![warn(clippy::pedantic, clippy::nursery)]
#![allow(clippy::wildcard_imports)]

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64, note: String, _trace: &str) -> Result<u32, Failure> {
    let total = order_total(conn, order_id).await?;
    let names = vec![String::new()];
    println!("{} of {}", total, names.iter().map(|name| name.len()).count());
    Ok(total as u32)
}

// Called as: charge(place, 42, String::new(), "")
