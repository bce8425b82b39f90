use idempotent_tests::ui::*;

#[derive(Deserialize)]
struct Receipt {
    total: u32,
}

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<Receipt, Failure> {
    let total = order_total(conn, order_id).await?;
    Ok(Receipt { total })
}

async fn caller(store: &SqliteStore) -> Result<Option<Receipt>, Failure> {
    Ok(charge(store, 42).await?.value())
}

fn main() {}
