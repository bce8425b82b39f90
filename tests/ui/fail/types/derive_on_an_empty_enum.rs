use idempotent_tests::ui::*;

#[derive(Clone, KeyPart, Serialize)]
enum Nobody {}

#[idempotent(key = "order_<order>")]
async fn charge(conn: &mut SqliteConnection, order: Nobody) -> Result<u32, Failure> {
    let _ = order;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore, nobody: Nobody) -> Result<u32, Failure> {
    Ok(charge(store, nobody).await?.value().unwrap_or_default())
}

fn main() {}
