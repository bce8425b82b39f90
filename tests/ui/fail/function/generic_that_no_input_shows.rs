use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge<T: Rate>(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    Ok(order_total(conn, order_id).await? * T::RATE)
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge::<Vat>(store, 42).await?.value().unwrap_or_default())
}

fn main() {}
