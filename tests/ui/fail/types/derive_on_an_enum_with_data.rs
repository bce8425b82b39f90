use idempotent_tests::ui::*;

#[derive(Clone, KeyPart, Serialize)]
enum Source {
    Web,
    Phone(String),
}

#[idempotent(key = "order_<order>")]
async fn charge(conn: &mut SqliteConnection, order: Source) -> Result<u32, Failure> {
    let _ = order;
    order_total(conn, 42).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, Source::Web).await?.value().unwrap_or_default())
}

fn main() {}
