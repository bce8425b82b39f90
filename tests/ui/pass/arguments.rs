//! Every argument of the attribute.
#![deny(warnings)]

use idempotent_tests::ui::*;

#[idempotent(
    key = "transactional_<order.id>_<region>",
    guard = is_paid(order.id),
    skip_if = is_cancelled(order.id),
    unique = payments(order_id),
    existing = load(order.id),
    missing,
    wait = 500ms,
    retain = 30d,
    inputs(order),
    ignore(trace),
    name = "all of a transactional job",
)]
async fn transactional(
    conn: &mut SqliteConnection,
    order: &Order,
    region: &str,
    trace: u64,
) -> Result<u32, Failure> {
    let _ = trace;
    pay(&mut *conn, order.id).await?;
    order_total(conn, order.id).await
}

#[idempotent(
    key = "leased_<order_id>",
    guard = paid,
    existing = load,
    lease = 30s,
    key_window = 24h,
    reconcile = found,
    wait = 0s,
    retain = 5m,
)]
async fn leased(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<u32, Failure> {
    let _ = gateway;
    let total = gateway::charge(job.key(), order_id).await?;
    pay(job.tx().await?, order_id).await?;
    Ok(total)
}

#[idempotent(key = "forever_<order_id>", key_window = forever, guard = paid(order_id))]
async fn forever(job: &mut Job<'_, Sqlite>, order_id: i64) -> Result<u32, Failure> {
    pay(job.tx().await?, order_id).await?;
    Ok(7)
}

#[idempotent(key = "by_constraint_<order_id>", unique = "payments_order_id", existing = load)]
async fn by_constraint(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "nightly", once, wait = 1s)]
async fn nightly(job: &mut Job<'_, Sqlite>) -> Result<u32, Failure> {
    gateway::charge(job.key(), 7).await
}

#[idempotent(key = "a << b: <order_id>", name = "a literal <")]
async fn literal(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = r#""raw"_<order_id>"#)]
async fn raw(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

struct App {
    store: SqliteStore,
}

#[idempotent(key = "from_the_app_<order_id>", store = app.store)]
async fn from_the_app(
    conn: &mut SqliteConnection,
    app: &App,
    order_id: i64,
) -> Result<u32, Failure> {
    let _ = app;
    order_total(conn, order_id).await
}

impl App {
    #[idempotent(key = "from_itself_<order_id>", store = self.store)]
    async fn from_itself(
        &self,
        job: &mut Job<'_, Sqlite>,
        order_id: i64,
    ) -> Result<u32, Failure> {
        gateway::charge(job.key(), order_id).await
    }
}

async fn is_paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    paid(conn, order_id).await.map(Some)
}

async fn is_cancelled(conn: &mut SqliteConnection, order_id: i64) -> Result<bool, Failure> {
    Ok(order_total(conn, order_id).await? == 0)
}

async fn load(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

async fn found(job: &mut Job<'_, Sqlite>, order_id: i64) -> Result<Option<u32>, Failure> {
    gateway::charge(job.key(), order_id).await.map(Some)
}

fn main() {
    on_a_store(async |store| {
        let order = Order { id: 42, amount: 7 };
        assert!(transactional(store, &order, "eu", 1).await.unwrap().is_performed());
        assert!(transactional(store, &order, "eu", 2).await.unwrap().is_replayed());
        let known = leased(store, &Gateway, 42).await.unwrap();
        assert_eq!(known.into_value(), 7, "it is paid: `existing` is asked");
        let done = forever(store, 42).await.unwrap();
        assert_eq!(done, Outcome::Skipped(Skip::Guard));
        assert_eq!(by_constraint(store, 42).await.unwrap().into_value(), 7);
        assert_eq!(nightly(store).await.unwrap().into_value(), 7);
        assert_eq!(literal(store, 42).await.unwrap().into_value(), 7);
        assert_eq!(raw(store, 42).await.unwrap().into_value(), 7);
        let app = App { store: store.clone() };
        assert_eq!(from_the_app(&app, 42).await.unwrap().into_value(), 7);
        assert_eq!(app.from_itself(42).await.unwrap().into_value(), 42);
    });
}
