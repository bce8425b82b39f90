use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let rate = std::rc::Rc::new(2);
    let total = order_total(conn, order_id).await?;
    Ok(total * *rate)
}

fn caller(store: SqliteStore) {
    tokio::spawn(async move { charge(&store, 42).await });
}

fn main() {}
