use idempotent_tests::ui::*;

#[derive(Clone, Copy, Serialize)]
struct OrderId(i64);

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: OrderId) -> Result<u32, Failure> {
    order_total(conn, order_id.0).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, OrderId(42)).await?.value().unwrap_or_default())
}

fn main() {}
