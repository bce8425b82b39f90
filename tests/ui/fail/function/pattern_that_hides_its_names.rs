use idempotent_tests::ui::*;

macro_rules! pair {
    ($name:ident) => {
        ($name, _)
    };
}

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, pair!(order_id): (i64, i64)) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, (42, 7)).await?.value().unwrap_or_default())
}

fn main() {}
