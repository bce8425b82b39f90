use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let _ = conn;
    u32::try_from(order_id).map_err(Failure::from)
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, 42).await?.value().unwrap_or_default())
}

fn main() {}
