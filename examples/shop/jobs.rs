//! The four jobs, annotated. `naive.rs` has the same by hand.
//!
//! `points.pass(…)` is where the schedule may have a worker wait, to kill it
//! there; a job of yours has nothing of the kind.

use idempotent_runtime::{Job, Sqlite, idempotent};
use sqlx::SqliteConnection;

use crate::error::ShopError;
use crate::gateway::{Gateway, Receipt};
use crate::mail::Mailer;
use crate::points::{Point, Points};
use crate::world::tables::{self, paid, provisioned, welcomed};

/// Mail goes outside the database: a leased job. The key becomes the
/// `Message-ID`, which is all that SMTP offers.
///
/// The leases here are short, so that a run need not wait long for those of the
/// workers that it killed.
#[idempotent(key = "welcome_<user_id>", guard = welcomed, lease = 1s)]
pub async fn send_welcome_email(
    job: &mut Job<'_, Sqlite>,
    mailer: &Mailer,
    points: &Points,
    user_id: i64,
) -> Result<String, ShopError> {
    points.pass(Point::InBody).await;
    let address = tables::email(job.pool(), user_id).await?;
    let message_id = mailer
        .send_welcome(&address, Some(job.key().as_str()))
        .await?;
    points.pass(Point::EffectDone).await;
    tables::mark_welcomed(job.tx().await?, user_id).await?;
    Ok(message_id)
}

/// A charge, too. The gateway honours the key: it charges once.
#[idempotent(key = "order_<order_id>", guard = paid, lease = 1s)]
pub async fn charge_payment(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    points: &Points,
    order_id: i64,
) -> Result<Receipt, ShopError> {
    points.pass(Point::InBody).await;
    let total = tables::total(job.pool(), order_id).await?;
    let receipt = gateway
        .charge(order_id, total, Some(job.key().as_str()))
        .await?;
    points.pass(Point::EffectDone).await;
    tables::mark_paid(job.tx().await?, order_id, &receipt.charge_id).await?;
    Ok(receipt)
}

/// In the database only: a transactional job. An invoice that is there already,
/// by whatever hand, is not made again.
#[idempotent(key = "invoice_<order_id>_<month>", unique = invoices(order_id, month))]
pub async fn create_invoice(
    conn: &mut SqliteConnection,
    points: &Points,
    order_id: i64,
    month: &str,
) -> Result<i64, ShopError> {
    points.pass(Point::InBody).await;
    let total = tables::total(&mut *conn, order_id).await?;
    let invoice_id = tables::insert_invoice(conn, order_id, month, total).await?;
    points.pass(Point::EffectDone).await;
    Ok(invoice_id)
}

/// The account and the signup's mark commit together, or not at all.
#[idempotent(key = "signup_<signup_id>", guard = provisioned)]
pub async fn provision_account(
    conn: &mut SqliteConnection,
    points: &Points,
    signup_id: i64,
) -> Result<i64, ShopError> {
    points.pass(Point::InBody).await;
    let account_id = tables::create_account(&mut *conn, signup_id).await?;
    points.pass(Point::EffectDone).await;
    tables::mark_provisioned(conn, signup_id, account_id).await?;
    Ok(account_id)
}
