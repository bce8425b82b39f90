use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<&'static str, Failure> {
    order_total(conn, order_id).await?;
    Ok("paid")
}

async fn caller(store: &SqliteStore) -> Result<Option<&'static str>, Failure> {
    Ok(charge(store, 42).await?.value())
}

fn main() {}
