use idempotent_tests::ui::*;

enum Declined {
    Idempotent(Error),
    Database(sqlx::Error),
}

impl From<Error> for Declined {
    fn from(error: Error) -> Self {
        Self::Idempotent(error)
    }
}

#[idempotent(key = "order_<order_id>", unique = payments(order_id))]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Declined> {
    raw_total(conn, order_id).await.map_err(Declined::Database)
}

async fn caller(store: &SqliteStore) -> Result<u32, Declined> {
    Ok(charge(store, 42).await?.value().unwrap_or_default())
}

fn main() {}
