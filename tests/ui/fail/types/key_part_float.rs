use idempotent_tests::ui::*;

#[idempotent(key = "order_<part>")]
async fn charge(conn: &mut SqliteConnection, part: f64) -> Result<u32, Failure> {
    let _ = part;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, 4.2).await?.value().unwrap_or_default())
}

fn main() {}
