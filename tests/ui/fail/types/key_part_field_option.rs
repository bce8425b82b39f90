use idempotent_tests::ui::*;

#[derive(Clone, Serialize)]
struct Draft {
    id: Option<i64>,
}

#[idempotent(key = "order_<order.id>")]
async fn charge(conn: &mut SqliteConnection, order: Draft) -> Result<u32, Failure> {
    order_total(conn, order.id.unwrap_or_default()).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, Draft { id: Some(42) }).await?.value().unwrap_or_default())
}

fn main() {}
