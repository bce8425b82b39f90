use idempotent_tests::ui::*;

struct App {
    store: SqliteStore,
}

fn store_of(app: &App) -> &SqliteStore {
    &app.store
}

#[idempotent(key = "order_<order_id>", store = store_of(app))]
async fn charge(conn: &mut SqliteConnection, app: &App, order_id: i64) -> Result<u32, Failure> {
    let _ = store_of(app);
    order_total(conn, order_id).await
}

async fn caller(app: &App) -> Result<u32, Failure> {
    Ok(charge(app, 42).await?.value().unwrap_or_default())
}

fn main() {}
