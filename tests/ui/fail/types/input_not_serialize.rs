use idempotent_tests::ui::*;

struct Gateway;

#[idempotent(key = "order_<order_id>")]
async fn charge(
    conn: &mut SqliteConnection,
    gateway: Gateway,
    order_id: i64,
) -> Result<u32, Failure> {
    let _ = gateway;
    order_total(conn, order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, Gateway, 42).await?.value().unwrap_or_default())
}

fn main() {}
