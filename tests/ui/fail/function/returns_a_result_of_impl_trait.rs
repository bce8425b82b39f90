use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<impl Send, Failure> {
    order_total(conn, order_id).await
}

async fn caller(store: &SqliteStore) -> Result<(), Failure> {
    let _ = charge(store, 42).await?;
    Ok(())
}

fn main() {}
