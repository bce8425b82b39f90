//! Clippy: a `match` that could be an `if let`.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let total = order_total(conn, order_id).await?;
    match total.checked_sub(1) {
        Some(less) => println!("{less}"),
        None => {}
    }
    Ok(total)
}
