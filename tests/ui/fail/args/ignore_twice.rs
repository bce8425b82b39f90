use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>", ignore(trace, trace))]
async fn charge(conn: &mut SqliteConnection, order_id: i64, trace: u64) -> Result<u32, Failure> {
    let _ = trace;
    order_total(conn, order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, 42, 7).await?.value().unwrap_or_default())
}

fn main() {}
