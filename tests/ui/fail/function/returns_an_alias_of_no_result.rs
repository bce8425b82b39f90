use idempotent_tests::ui::*;

type Total = u32;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Total {
    order_total(conn, order_id).await.unwrap_or_default()
}

async fn caller(store: &SqliteStore) -> Total {
    charge(store, 42).await.ok().and_then(Outcome::value).unwrap_or_default()
}

fn main() {}
