use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>", lease = 1.5s)]
async fn charge(job: &mut Job<'_, Sqlite>, order_id: i64) -> Result<u32, Failure> {
    gateway::charge(job.key(), order_id).await
}

async fn caller(store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge(store, 42).await?.value().unwrap_or_default())
}

fn main() {}
