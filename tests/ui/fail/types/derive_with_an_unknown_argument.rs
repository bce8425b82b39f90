use idempotent_tests::ui::*;

#[derive(Clone, KeyPart, Serialize)]
#[key_part(rename = "order")]
struct OrderId(i64);

#[idempotent(key = "order_<order>")]
async fn charge(conn: &mut SqliteConnection, order: OrderId) -> Result<u32, Failure> {
    order_total(conn, order.0).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, OrderId(42)).await?.value().unwrap_or_default())
}

fn main() {}
