//! The four jobs of the shop, as a shop's own test suite would have them in the lab.

use idempotent_runtime::testing::{Lab, LabError, Report};
use idempotent_runtime::{Job, Sqlite, idempotent};
use sqlx::SqliteConnection;

use super::outside::{Failure, Gateway, schema};

#[idempotent(key = "welcome_<user_id>", guard = welcomed)]
async fn send_welcome_email(
    job: &mut Job<'_, Sqlite>,
    mailer: &Gateway,
    user_id: i64,
) -> Result<String, Failure> {
    let address: String = sqlx::query_scalar("SELECT email FROM users WHERE id = ?")
        .bind(user_id)
        .fetch_one(job.pool())
        .await?;
    let message = mailer.charge(&address, Some(job.key().as_str())).await;
    sqlx::query("UPDATE users SET welcomed = TRUE WHERE id = ?")
        .bind(user_id)
        .execute(job.tx().await?)
        .await?;
    Ok(message)
}

async fn welcomed(conn: &mut SqliteConnection, user_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT welcomed FROM users WHERE id = ?")
        .bind(user_id)
        .fetch_optional(conn)
        .await
}

#[idempotent(key = "order_<order_id>", guard = paid, lease = 30s)]
async fn charge_payment(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<String, Failure> {
    let total: i64 = sqlx::query_scalar("SELECT total FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_one(job.pool())
        .await?;
    let charge = format!("{total} for order {order_id}");
    let receipt = gateway.charge(&charge, Some(job.key().as_str())).await;
    let tx = job.tx().await?;
    sqlx::query("INSERT INTO payments (order_id, receipt) VALUES (?, ?)")
        .bind(order_id)
        .bind(&receipt)
        .execute(&mut *tx)
        .await?;
    sqlx::query("UPDATE orders SET paid = TRUE, paid_at = datetime('subsec') WHERE id = ?")
        .bind(order_id)
        .execute(tx)
        .await?;
    Ok(receipt)
}

async fn paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT paid FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

#[idempotent(key = "invoice_<order_id>_<month>", unique = invoices(order_id, month))]
async fn create_invoice(
    conn: &mut SqliteConnection,
    order_id: i64,
    month: &str,
) -> Result<i64, Failure> {
    let invoice = sqlx::query_scalar(
        "INSERT INTO invoices (order_id, month) SELECT id, ? FROM orders WHERE id = ? RETURNING id",
    )
    .bind(month)
    .bind(order_id)
    .fetch_one(conn)
    .await?;
    Ok(invoice)
}

#[idempotent(key = "signup_<signup_id>", guard = provisioned)]
async fn provision_account(conn: &mut SqliteConnection, signup_id: i64) -> Result<i64, Failure> {
    let account: i64 =
        sqlx::query_scalar("INSERT INTO accounts (signup_id) VALUES (?) RETURNING id")
            .bind(signup_id)
            .fetch_one(&mut *conn)
            .await?;
    sqlx::query("UPDATE signups SET account_id = ? WHERE id = ?")
        .bind(account)
        .bind(signup_id)
        .execute(conn)
        .await?;
    Ok(account)
}

async fn provisioned(conn: &mut SqliteConnection, signup_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT account_id IS NOT NULL FROM signups WHERE id = ?")
        .bind(signup_id)
        .fetch_optional(conn)
        .await
}

/// Every statement was the last one before a kill, and the waits were not a few.
fn passes(name: &str, report: &Report) {
    println!("{name}: {report}");
    report.assert_once();
    assert_eq!(report.statements_never_last(), [""; 0], "{report}");
    assert!(report.cut_points() > 8, "{report}");
}

#[tokio::test]
async fn send_welcome_email_is_idempotent() -> Result<(), LabError> {
    let report = Lab::sqlite()
        .world(async |db| {
            schema(db).await?;
            Ok(Gateway::default())
        })
        .job(async |store, mailer| send_welcome_email(store, mailer, 7).await)
        .observe(Gateway::charges)
        .run()
        .await?;
    passes("send_welcome_email", &report);
    Ok(())
}

#[tokio::test]
async fn charge_payment_is_idempotent() -> Result<(), LabError> {
    let report = Lab::sqlite()
        .world(async |db| {
            schema(db).await?;
            Ok(Gateway::default())
        })
        .job(async |store, gateway| charge_payment(store, gateway, 42).await)
        .observe(Gateway::charges)
        .ignore_columns(["orders.paid_at"])
        .run()
        .await?;
    passes("charge_payment", &report);
    Ok(())
}

#[tokio::test]
async fn create_invoice_is_idempotent() -> Result<(), LabError> {
    let report = Lab::sqlite()
        .world(async |db| Ok(schema(db).await?))
        .job(async |store, ()| create_invoice(store, 42, "2025-05").await)
        .run()
        .await?;
    passes("create_invoice", &report);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn provision_account_is_idempotent() -> Result<(), LabError> {
    let report = Lab::sqlite()
        .world(async |db| Ok(schema(db).await?))
        .job(async |store, ()| provision_account(store, 3).await)
        .run()
        .await?;
    passes("provision_account", &report);
    Ok(())
}
