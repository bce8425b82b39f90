use idempotent_tests::ui::*;

#[derive(Clone, KeyPart, Serialize)]
struct Line {
    order: i64,
    number: i64,
}

#[idempotent(key = "order_<order>")]
async fn charge(conn: &mut SqliteConnection, order: Line) -> Result<u32, Failure> {
    let _ = order;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, Line { order: 42, number: 7 }).await?.value().unwrap_or_default())
}

fn main() {}
