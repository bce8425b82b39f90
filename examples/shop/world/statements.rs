//! The shop's statements, as the jobs use them, annotated and naive alike.

use sqlx::Result;

use super::driver::Driver;

/// What the jobs ask of a database; `DB::paid(conn, 42)` in a job that is generic over it.
///
/// Written once: what the databases write differently is [`Driver`]'s. Where that is not enough, a
/// statement is a method without a body here, and one with a body for each database.
pub trait ShopDatabase: Driver {
    async fn email(conn: &mut Self::Connection, user_id: i64) -> Result<String> {
        let sql = "SELECT email FROM users WHERE id = ?";
        Self::one(conn, sql, &[user_id.into()]).await
    }

    /// Whether the user has been welcomed; None if the user is gone.
    async fn welcomed(conn: &mut Self::Connection, user_id: i64) -> Result<Option<bool>> {
        let sql = "SELECT welcome_email_sent FROM users WHERE id = ?";
        Self::ask(conn, sql, &[user_id.into()]).await
    }

    async fn mark_welcomed(conn: &mut Self::Connection, user_id: i64) -> Result<()> {
        let sql = "UPDATE users SET welcome_email_sent = TRUE WHERE id = ?";
        Self::change(conn, sql, &[user_id.into()]).await?;
        Ok(())
    }

    /// In cents.
    async fn total(conn: &mut Self::Connection, order_id: i64) -> Result<i64> {
        let sql = "SELECT total FROM orders WHERE id = ?";
        Self::one(conn, sql, &[order_id.into()]).await
    }

    /// Whether the order is paid; None if there is no such order.
    async fn paid(conn: &mut Self::Connection, order_id: i64) -> Result<Option<bool>> {
        let sql = "SELECT paid FROM orders WHERE id = ?";
        Self::ask(conn, sql, &[order_id.into()]).await
    }

    async fn mark_paid(conn: &mut Self::Connection, order_id: i64, charge_id: &str) -> Result<()> {
        let sql = "INSERT INTO payments (order_id, charge_id) VALUES (?, ?)";
        Self::insert(conn, sql, &[order_id.into(), charge_id.into()]).await?;
        let sql = "UPDATE orders SET paid = TRUE WHERE id = ?";
        Self::change(conn, sql, &[order_id.into()]).await?;
        Ok(())
    }

    /// The new invoice's id. One order has one invoice a month: the table says so.
    async fn insert_invoice(
        conn: &mut Self::Connection,
        order_id: i64,
        month: &str,
        total: i64,
    ) -> Result<i64> {
        let sql = "INSERT INTO invoices (order_id, month, total) VALUES (?, ?, ?)";
        Self::insert(conn, sql, &[order_id.into(), month.into(), total.into()]).await
    }

    /// For want of the constraint, somebody has to look first.
    async fn naive_invoice(
        conn: &mut Self::Connection,
        order_id: i64,
        month: &str,
    ) -> Result<Option<i64>> {
        let sql = "SELECT id FROM naive_invoices WHERE order_id = ? AND month = ?";
        Self::ask(conn, sql, &[order_id.into(), month.into()]).await
    }

    async fn insert_naive_invoice(
        conn: &mut Self::Connection,
        order_id: i64,
        month: &str,
        total: i64,
    ) -> Result<i64> {
        let sql = "INSERT INTO naive_invoices (order_id, month, total) VALUES (?, ?, ?)";
        Self::insert(conn, sql, &[order_id.into(), month.into(), total.into()]).await
    }

    /// Whether the signup has its account; None if there is no such signup.
    async fn provisioned(conn: &mut Self::Connection, signup_id: i64) -> Result<Option<bool>> {
        let sql = "SELECT account_id IS NOT NULL FROM signups WHERE id = ?";
        Self::ask(conn, sql, &[signup_id.into()]).await
    }

    /// The new account's id.
    async fn create_account(conn: &mut Self::Connection, signup_id: i64) -> Result<i64> {
        let sql = "INSERT INTO accounts (signup_id, email) \
                   SELECT id, email FROM signups WHERE id = ?";
        Self::insert(conn, sql, &[signup_id.into()]).await
    }

    async fn mark_provisioned(
        conn: &mut Self::Connection,
        signup_id: i64,
        account_id: i64,
    ) -> Result<()> {
        let sql = "UPDATE signups SET account_id = ? WHERE id = ?";
        Self::change(conn, sql, &[account_id.into(), signup_id.into()]).await?;
        Ok(())
    }
}

impl<DB: Driver> ShopDatabase for DB {}
