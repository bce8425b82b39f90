use idempotent_tests::ui::*;

#[idempotent(key = "nightly", once)]
async fn charge() -> Result<u32, Failure> {
    Ok(7)
}

async fn caller(_store: &SqliteStore) -> Result<u32, Failure> {
    Ok(charge().await?.value().unwrap_or_default())
}

fn main() {}
