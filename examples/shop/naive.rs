//! The four jobs as they are often written: look whether it was done, do it,
//! leave a mark. Each is right as long as it runs alone and to its end.

use sqlx::Pool;

use crate::error::ShopError;
use crate::gateway::{Gateway, Receipt};
use crate::mail::Mailer;
use crate::points::{Point, Points};
use crate::world::ShopDatabase;

/// Two workers both see the flag unset; or one dies between the mail and the flag.
pub async fn send_welcome_email<DB: ShopDatabase>(
    pool: &Pool<DB>,
    mailer: &Mailer,
    points: &Points,
    user_id: i64,
) -> Result<Option<String>, ShopError> {
    let mut conn = pool.acquire().await?;
    if DB::welcomed(&mut conn, user_id).await? != Some(false) {
        return Ok(None);
    }
    points.pass(Point::InBody).await;
    let address = DB::email(&mut conn, user_id).await?;
    let message_id = mailer.send_welcome(&address, None).await?;
    points.pass(Point::EffectDone).await;
    DB::mark_welcomed(&mut conn, user_id).await?;
    Ok(Some(message_id))
}

/// A crash between the charge and the mark charges twice.
pub async fn charge_payment<DB: ShopDatabase>(
    pool: &Pool<DB>,
    gateway: &Gateway,
    points: &Points,
    order_id: i64,
) -> Result<Option<Receipt>, ShopError> {
    let mut conn = pool.acquire().await?;
    if DB::paid(&mut conn, order_id).await? != Some(false) {
        return Ok(None);
    }
    points.pass(Point::InBody).await;
    let total = DB::total(&mut conn, order_id).await?;
    let receipt = gateway.charge(order_id, total, None).await?;
    points.pass(Point::EffectDone).await;
    DB::mark_paid(&mut conn, order_id, &receipt.charge_id).await?;
    Ok(Some(receipt))
}

/// Two workers both find no invoice, and both make one.
pub async fn create_invoice<DB: ShopDatabase>(
    pool: &Pool<DB>,
    points: &Points,
    order_id: i64,
    month: &str,
) -> Result<Option<i64>, ShopError> {
    let mut conn = pool.acquire().await?;
    if DB::naive_invoice(&mut conn, order_id, month)
        .await?
        .is_some()
    {
        return Ok(None);
    }
    points.pass(Point::InBody).await;
    let total = DB::total(&mut conn, order_id).await?;
    let invoice_id = DB::insert_naive_invoice(&mut conn, order_id, month, total).await?;
    points.pass(Point::EffectDone).await;
    Ok(Some(invoice_id))
}

/// A crash after the first statement leaves an account that its signup does not
/// know of; the retry makes a second one.
pub async fn provision_account<DB: ShopDatabase>(
    pool: &Pool<DB>,
    points: &Points,
    signup_id: i64,
) -> Result<Option<i64>, ShopError> {
    let mut conn = pool.acquire().await?;
    if DB::provisioned(&mut conn, signup_id).await? != Some(false) {
        return Ok(None);
    }
    points.pass(Point::InBody).await;
    let account_id = DB::create_account(&mut conn, signup_id).await?;
    points.pass(Point::EffectDone).await;
    DB::mark_provisioned(&mut conn, signup_id, account_id).await?;
    Ok(Some(account_id))
}
