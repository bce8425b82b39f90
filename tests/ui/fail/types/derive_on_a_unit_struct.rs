use idempotent_tests::ui::*;

#[derive(Clone, KeyPart, Serialize)]
struct Nothing;

#[idempotent(key = "order_<order>")]
async fn charge(conn: &mut SqliteConnection, order: Nothing) -> Result<u32, Failure> {
    let _ = order;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, Nothing).await?.value().unwrap_or_default())
}

fn main() {}
