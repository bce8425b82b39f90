use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64, note: &str) -> Result<&str, Failure> {
    order_total(conn, order_id).await?;
    Ok(note)
}

async fn caller(store: &SqliteStore) -> Result<bool, Failure> {
    Ok(charge(store, 42, "paid").await?.is_performed())
}

fn main() {}
