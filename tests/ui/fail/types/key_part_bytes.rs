use idempotent_tests::ui::*;

#[idempotent(key = "order_<part>")]
async fn charge(conn: &mut SqliteConnection, part: Vec<u8>) -> Result<u32, Failure> {
    let _ = part;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, vec![42]).await?.value().unwrap_or_default())
}

fn main() {}
