use idempotent_tests::ui::*;

#[idempotent(, key = "order_<order_id>", guard = paid)]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, 42).await?.value().unwrap_or_default())
}

fn main() {}
