//! Clippy: a lock is held across an `.await`.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let lock = std::sync::Mutex::new(1);
    let held = lock.lock().unwrap();
    let total = order_total(conn, order_id).await?;
    Ok(total + *held)
}
