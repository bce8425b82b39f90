//! The handlers as they are often written: look whether it was done, do it, leave a
//! mark. Each is right as long as its job comes once and its worker lives.

use apalis::prelude::Data;

use crate::app::App;
use crate::books;
use crate::gateway::Receipt;
use crate::payload::{Award, Charge, Payload as _};
use crate::settle::WorkError;

/// A worker that dies between the charge and the mark charges twice; so do two
/// copies of the job at once.
pub async fn charge(task: Charge, app: Data<App>) -> Result<Option<Receipt>, WorkError> {
    let mut conn = app.store.pool().acquire().await?;
    if books::paid(&mut conn, task.order_id).await? != Some(false) {
        return Ok(None);
    }
    if task.cents <= 0 {
        return Err(WorkError::NothingToCharge);
    }
    let receipt = app.gateway.charge(task.order_id, task.cents, None).await?;
    app.points.effect_done(task.job()).await;
    books::mark_paid(&mut conn, task.order_id, &receipt.charge_id).await?;
    Ok(Some(receipt))
}

/// The points are given by one statement, and the mark is left by another.
pub async fn award(task: Award, app: Data<App>) -> Result<Option<i64>, WorkError> {
    let mut conn = app.store.pool().acquire().await?;
    if books::awarded(&mut conn, task.order_id).await? != Some(false) {
        return Ok(None);
    }
    assert!(task.points >= 0, "an award takes nothing away");
    books::add_award(&mut conn, task.order_id, task.points).await?;
    app.points.effect_done(task.job()).await;
    books::mark_awarded(&mut conn, task.order_id).await?;
    Ok(Some(task.points))
}
