use idempotent_tests::ui::*;

#[idempotent(key = "order_<order.id>", ignore(order.amount))]
async fn charge(conn: &mut SqliteConnection, order: &Order) -> Result<u32, Failure> {
    order_total(conn, order.id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, &Order { id: 42, amount: 7 }).await?.value().unwrap_or_default())
}

fn main() {}
