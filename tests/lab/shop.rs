//! The four jobs of the shop, as a shop's own test suite would have them in the lab.

use std::collections::BTreeSet;

use idempotent_runtime::testing::{CutPoint, LabError, Report};
use idempotent_runtime::{Job, idempotent};

use super::outside::{Failure, Gateway, now, schema};
use crate::db::{Conn, Db, sql};
use crate::lab;

#[idempotent(key = "welcome_<user_id>", guard = welcomed)]
async fn send_welcome_email(
    job: &mut Job<'_, Db>,
    mailer: &Gateway,
    user_id: i64,
) -> Result<String, Failure> {
    let address: String = sqlx::query_scalar(sql("SELECT email FROM users WHERE id = ?"))
        .bind(user_id)
        .fetch_one(job.pool())
        .await?;
    let message = mailer.charge(&address, Some(job.key().as_str())).await;
    sqlx::query(sql("UPDATE users SET welcomed = TRUE WHERE id = ?"))
        .bind(user_id)
        .execute(job.tx().await?)
        .await?;
    Ok(message)
}

async fn welcomed(conn: &mut Conn, user_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar(sql("SELECT welcomed FROM users WHERE id = ?"))
        .bind(user_id)
        .fetch_optional(conn)
        .await
}

#[idempotent(key = "order_<order_id>", guard = paid, lease = 30s)]
async fn charge_payment(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<String, Failure> {
    let total: i64 = sqlx::query_scalar(sql("SELECT total FROM orders WHERE id = ?"))
        .bind(order_id)
        .fetch_one(job.pool())
        .await?;
    let charge = format!("{total} for order {order_id}");
    let receipt = gateway.charge(&charge, Some(job.key().as_str())).await;
    let tx = job.tx().await?;
    sqlx::query(sql(
        "INSERT INTO payments (order_id, receipt) VALUES (?, ?)",
    ))
    .bind(order_id)
    .bind(&receipt)
    .execute(&mut *tx)
    .await?;
    sqlx::query(sql(
        "UPDATE orders SET paid = TRUE, paid_at = ? WHERE id = ?",
    ))
    .bind(now())
    .bind(order_id)
    .execute(tx)
    .await?;
    Ok(receipt)
}

async fn paid(conn: &mut Conn, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar(sql("SELECT paid FROM orders WHERE id = ?"))
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

#[idempotent(key = "invoice_<order_id>_<month>", unique = invoices(order_id, month))]
async fn create_invoice(conn: &mut Conn, order_id: i64, month: &str) -> Result<(), Failure> {
    sqlx::query(sql("INSERT INTO invoices (order_id, month) VALUES (?, ?)"))
        .bind(order_id)
        .bind(month)
        .execute(conn)
        .await?;
    Ok(())
}

#[idempotent(key = "signup_<signup_id>", guard = provisioned)]
async fn provision_account(conn: &mut Conn, signup_id: i64) -> Result<i64, Failure> {
    sqlx::query(sql("INSERT INTO accounts (signup_id) VALUES (?)"))
        .bind(signup_id)
        .execute(&mut *conn)
        .await?;
    let account: i64 = sqlx::query_scalar(sql("SELECT id FROM accounts WHERE signup_id = ?"))
        .bind(signup_id)
        .fetch_one(&mut *conn)
        .await?;
    sqlx::query(sql("UPDATE signups SET account_id = ? WHERE id = ?"))
        .bind(account)
        .bind(signup_id)
        .execute(conn)
        .await?;
    Ok(account)
}

async fn provisioned(conn: &mut Conn, signup_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar(sql(
        "SELECT account_id IS NOT NULL FROM signups WHERE id = ?",
    ))
    .bind(signup_id)
    .fetch_optional(conn)
    .await
}

/// It was killed at every wait, each statement was the last one before a kill, and the waits were not a
/// few.
pub fn passes(name: &str, report: &Report) {
    println!("{name}: {report}");
    report.assert_once();
    assert_eq!(report.statements_never_last(), [""; 0], "{report}");
    let waits: BTreeSet<usize> = report.cuts().map(CutPoint::wait).collect();
    assert!(waits.iter().copied().eq(1..=waits.len()), "{waits:?}");
    assert!(report.cut_points() > 8, "{report}");
}

async fn send_welcome_email_is_idempotent() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| {
            schema(db, &["users"]).await?;
            Ok(Gateway::default())
        })
        .job(async |store, mailer| send_welcome_email(store, mailer, 7).await)
        .observe(Gateway::charges)
        .run()
        .await?;
    passes("send_welcome_email", &report);
    Ok(())
}

async fn charge_payment_is_idempotent() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| {
            schema(db, &["orders", "payments"]).await?;
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

async fn create_invoice_is_idempotent() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(schema(db, &["invoices"]).await?))
        .job(async |store, ()| create_invoice(store, 42, "2025-05").await)
        .run()
        .await?;
    passes("create_invoice", &report);
    Ok(())
}

async fn provision_account_is_idempotent() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(schema(db, &["accounts", "signups"]).await?))
        .job(async |store, ()| provision_account(store, 3).await)
        .run()
        .await?;
    passes("provision_account", &report);
    Ok(())
}

/// The same on a runtime of several threads, whose tasks wake each other across them.
async fn provision_account_is_idempotent_on_several_threads() -> Result<(), LabError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let on_it = std::thread::spawn(move || runtime.block_on(provision_account_is_idempotent()));
    on_it.join().expect("it does not panic")
}

super::list!(
    send_welcome_email_is_idempotent,
    charge_payment_is_idempotent,
    create_invoice_is_idempotent,
    provision_account_is_idempotent,
    provision_account_is_idempotent_on_several_threads,
);
