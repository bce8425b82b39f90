use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, sqlx::Error> {
    raw_total(conn, order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, sqlx::Error> {
    Ok(charge(store, 42).await?.value().unwrap_or_default())
}

fn main() {}
