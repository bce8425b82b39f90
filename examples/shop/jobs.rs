//! The four jobs, annotated. `naive.rs` has the same by hand.
//!
//! They are written once, generic over the database, with a trait of the shop's own for its
//! statements: `DB::paid` is then a guard as any path is, `job.tx()` gives a `DB::Connection`, and
//! the compiler checks a job where it is written. (A macro that writes the module out for each
//! database would do too, and spare the trait; but then nothing is checked or found by an editor
//! before it is used, and every mistake is reported three times.) The jobs of a shop with one
//! database name it, and need no trait: the small examples beside this one do.
//!
//! `points.pass(…)` is where the schedule may have a worker wait, to kill it
//! there; a job of yours has nothing of the kind.

use idempotent_runtime::{Job, idempotent};

use crate::error::ShopError;
use crate::gateway::{Gateway, Receipt};
use crate::mail::Mailer;
use crate::points::{Point, Points};
use crate::world::ShopDatabase;

/// Mail goes outside the database: a leased job. The key becomes the
/// `Message-ID`, which is all that SMTP offers.
///
/// The leases here are short, so that a run need not wait long for those of the
/// workers that it killed.
#[idempotent(key = "welcome_<user_id>", guard = DB::welcomed, lease = 1s)]
pub async fn send_welcome_email<DB: ShopDatabase>(
    job: &mut Job<'_, DB>,
    mailer: &Mailer,
    points: &Points,
    user_id: i64,
) -> Result<String, ShopError> {
    points.pass(Point::InBody).await;
    let address = DB::email(&mut *job.pool().acquire().await?, user_id).await?;
    let message_id = mailer
        .send_welcome(&address, Some(job.key().as_str()))
        .await?;
    points.pass(Point::EffectDone).await;
    DB::mark_welcomed(job.tx().await?, user_id).await?;
    Ok(message_id)
}

/// A charge, too. The gateway honours the key: it charges once.
#[idempotent(key = "order_<order_id>", guard = DB::paid, lease = 1s)]
pub async fn charge_payment<DB: ShopDatabase>(
    job: &mut Job<'_, DB>,
    gateway: &Gateway,
    points: &Points,
    order_id: i64,
) -> Result<Receipt, ShopError> {
    points.pass(Point::InBody).await;
    let total = DB::total(&mut *job.pool().acquire().await?, order_id).await?;
    let receipt = gateway
        .charge(order_id, total, Some(job.key().as_str()))
        .await?;
    points.pass(Point::EffectDone).await;
    DB::mark_paid(job.tx().await?, order_id, &receipt.charge_id).await?;
    Ok(receipt)
}

/// In the database only: a transactional job. An invoice that is there already,
/// by whatever hand, is not made again.
#[idempotent(key = "invoice_<order_id>_<month>", unique = invoices(order_id, month))]
pub async fn create_invoice<DB: ShopDatabase>(
    conn: &mut DB::Connection,
    points: &Points,
    order_id: i64,
    month: &str,
) -> Result<i64, ShopError> {
    points.pass(Point::InBody).await;
    let total = DB::total(conn, order_id).await?;
    let invoice_id = DB::insert_invoice(conn, order_id, month, total).await?;
    points.pass(Point::EffectDone).await;
    Ok(invoice_id)
}

/// The account and the signup's mark commit together, or not at all.
#[idempotent(key = "signup_<signup_id>", guard = DB::provisioned)]
pub async fn provision_account<DB: ShopDatabase>(
    conn: &mut DB::Connection,
    points: &Points,
    signup_id: i64,
) -> Result<i64, ShopError> {
    points.pass(Point::InBody).await;
    let account_id = DB::create_account(conn, signup_id).await?;
    points.pass(Point::EffectDone).await;
    DB::mark_provisioned(conn, signup_id, account_id).await?;
    Ok(account_id)
}
