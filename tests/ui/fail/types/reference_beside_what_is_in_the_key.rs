use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(
    conn: &mut SqliteConnection,
    (order_id, amount): &(i64, u32),
) -> Result<u32, Failure> {
    let _ = amount;
    order_total(conn, *order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, &(42, 7)).await?.value().unwrap_or_default())
}

fn main() {}
