use idempotent_tests::ui::*;

#[derive(Clone, Copy, KeyPart)]
union Raw {
    number: i64,
    bytes: [u8; 8],
}

#[idempotent(key = "order_<order>")]
async fn charge(conn: &mut SqliteConnection, order: Raw) -> Result<u32, Failure> {
    let _ = order;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, Raw { number: 42 }).await?.value().unwrap_or_default())
}

fn main() {}
