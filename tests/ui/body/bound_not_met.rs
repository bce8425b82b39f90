//! A bound is not met.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    use std::collections::HashMap;
    let mut seen = HashMap::new();
    seen.insert(1.5_f64, order_id);
    order_total(conn, order_id).await
}
