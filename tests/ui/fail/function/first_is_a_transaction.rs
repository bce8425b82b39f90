use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(tx: &mut Transaction<'_, Sqlite>, order_id: i64) -> Result<u32, Failure> {
    order_total(tx, order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, 42).await?.value().unwrap_or_default())
}

fn main() {}
