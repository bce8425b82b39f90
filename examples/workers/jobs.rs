//! The handlers, annotated as apalis takes them. `naive.rs` has the same by hand.
//!
//! The store comes from apalis' `Data` (`store = app.store`), so that the first
//! parameter is not the queue's to give; the key is made of the payload's fields.
//! What a handler gives, an `Outcome`, serializes: apalis can keep it.
//!
//! `points.effect_done(…)` is where the parent may kill the worker; a handler of
//! yours has nothing of the kind.

use apalis::prelude::Data;
use idempotent_runtime::{Job, Sqlite, idempotent};
use sqlx::SqliteConnection;

use crate::app::App;
use crate::books;
use crate::gateway::Receipt;
use crate::payload::{Award, Charge, Payload as _};
use crate::settle::WorkError;

/// Money is outside the database: a leased job. Its lease is short here, so that a
/// run need not wait long for those of the workers that it killed.
#[idempotent(
    key = "order_<task.order_id>",
    guard = books::paid,
    store = app.store,
    lease = 1s
)]
pub async fn charge(
    job: &mut Job<'_, Sqlite>,
    task: Charge,
    app: Data<App>,
) -> Result<Receipt, WorkError> {
    if task.cents <= 0 {
        return Err(WorkError::NothingToCharge);
    }
    let receipt = app
        .gateway
        .charge(task.order_id, task.cents, Some(job.key().as_str()))
        .await?;
    app.points.effect_done(task.job()).await;
    books::mark_paid(job.tx().await?, task.order_id, &receipt.charge_id).await?;
    Ok(receipt)
}

/// Points are in the database only: a transactional job.
#[idempotent(key = "award_<task.order_id>", store = app.store)]
pub async fn award(
    conn: &mut SqliteConnection,
    task: Award,
    app: Data<App>,
) -> Result<i64, WorkError> {
    assert!(task.points >= 0, "an award takes nothing away");
    books::add_award(&mut *conn, task.order_id, task.points).await?;
    app.points.effect_done(task.job()).await;
    books::mark_awarded(conn, task.order_id).await?;
    Ok(task.points)
}
