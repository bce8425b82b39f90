//! The shop's statements, as the jobs use them, annotated and naive alike.
//!
//! What only reads takes any executor; what writes, and the guards, take the
//! connection whose transaction they belong to.

use sqlx::{SqliteConnection, SqliteExecutor};

pub async fn email(db: impl SqliteExecutor<'_>, user_id: i64) -> sqlx::Result<String> {
    sqlx::query_scalar("SELECT email FROM users WHERE id = ?")
        .bind(user_id)
        .fetch_one(db)
        .await
}

/// Whether the user has been welcomed; None if the user is gone.
pub async fn welcomed(conn: &mut SqliteConnection, user_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT welcome_email_sent FROM users WHERE id = ?")
        .bind(user_id)
        .fetch_optional(conn)
        .await
}

pub async fn mark_welcomed(conn: &mut SqliteConnection, user_id: i64) -> sqlx::Result<()> {
    sqlx::query("UPDATE users SET welcome_email_sent = TRUE WHERE id = ?")
        .bind(user_id)
        .execute(conn)
        .await?;
    Ok(())
}

/// In cents.
pub async fn total(db: impl SqliteExecutor<'_>, order_id: i64) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT total FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_one(db)
        .await
}

/// Whether the order is paid; None if there is no such order.
pub async fn paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT paid FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

pub async fn mark_paid(
    conn: &mut SqliteConnection,
    order_id: i64,
    charge_id: &str,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO payments (order_id, charge_id) VALUES (?, ?)")
        .bind(order_id)
        .bind(charge_id)
        .execute(&mut *conn)
        .await?;
    sqlx::query("UPDATE orders SET paid = TRUE WHERE id = ?")
        .bind(order_id)
        .execute(conn)
        .await?;
    Ok(())
}

/// The new invoice's id. One order has one invoice a month: the table says so.
pub async fn insert_invoice(
    conn: &mut SqliteConnection,
    order_id: i64,
    month: &str,
    total: i64,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "INSERT INTO invoices (order_id, month, total) VALUES (?, ?, ?) RETURNING id",
    )
    .bind(order_id)
    .bind(month)
    .bind(total)
    .fetch_one(conn)
    .await
}

/// For want of the constraint, somebody has to look first.
pub async fn naive_invoice(
    db: impl SqliteExecutor<'_>,
    order_id: i64,
    month: &str,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("SELECT id FROM naive_invoices WHERE order_id = ? AND month = ?")
        .bind(order_id)
        .bind(month)
        .fetch_optional(db)
        .await
}

pub async fn insert_naive_invoice(
    conn: &mut SqliteConnection,
    order_id: i64,
    month: &str,
    total: i64,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "INSERT INTO naive_invoices (order_id, month, total) VALUES (?, ?, ?) RETURNING id",
    )
    .bind(order_id)
    .bind(month)
    .bind(total)
    .fetch_one(conn)
    .await
}

/// Whether the signup has its account; None if there is no such signup.
pub async fn provisioned(
    conn: &mut SqliteConnection,
    signup_id: i64,
) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT account_id IS NOT NULL FROM signups WHERE id = ?")
        .bind(signup_id)
        .fetch_optional(conn)
        .await
}

/// The new account's id.
pub async fn create_account(conn: &mut SqliteConnection, signup_id: i64) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "INSERT INTO accounts (signup_id, email) SELECT id, email FROM signups WHERE id = ? RETURNING id",
    )
    .bind(signup_id)
    .fetch_one(conn)
    .await
}

pub async fn mark_provisioned(
    conn: &mut SqliteConnection,
    signup_id: i64,
    account_id: i64,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE signups SET account_id = ? WHERE id = ?")
        .bind(account_id)
        .bind(signup_id)
        .execute(conn)
        .await?;
    Ok(())
}
