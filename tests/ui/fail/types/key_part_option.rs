use idempotent_tests::ui::*;

#[idempotent(key = "order_<part>")]
async fn charge(conn: &mut SqliteConnection, part: Option<i64>) -> Result<u32, Failure> {
    let _ = part;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, Some(42)).await?.value().unwrap_or_default())
}

fn main() {}
