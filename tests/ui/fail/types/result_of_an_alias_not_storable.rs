use idempotent_tests::ui::*;

struct Receipt {
    total: u32,
}

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> anyhow::Result<Receipt> {
    let total = order_total(conn, order_id).await?;
    Ok(Receipt { total })
}

async fn caller(store: &SqliteStore) -> anyhow::Result<Option<u32>> {
    Ok(charge(store, 42).await?.value().map(|receipt| receipt.total))
}

fn main() {}
