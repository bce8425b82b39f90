//! The job: reserve, charge, ship, each a step that is recorded before the next one begins.
//!
//! `fate.meet(…)` is where the worker of a run may be killed; a job of yours has nothing of the kind.

use anyhow::Result;
use idempotent_runtime::{Job, idempotent};

use crate::outside::Outside;
use crate::place::{Fate, Place};
use crate::warehouse::Warehouse;

/// The lease is short, so that a run need not wait long for those of the workers that it killed.
#[idempotent(key = "fulfil_<order_id>", lease = 1s)]
pub async fn fulfil<DB: Warehouse>(
    job: &mut Job<'_, DB>,
    outside: &Outside,
    fate: &Fate,
    order_id: i64,
) -> Result<String> {
    fate.meet(Place::Claimed);
    // In the database: the writes and the record of the step are one commit.
    job.tx_step("reserve", async |conn| {
        DB::reserve_piece(conn, order_id).await?;
        fate.meet(Place::Reserving);
        anyhow::Ok(())
    })
    .await??;
    fate.meet(Place::Reserved);
    // Outside: the step's own key, the same on every attempt, goes with the request.
    job.step("charge", async |key| {
        let receipt = outside.ask("charge", key, order_id).await?;
        fate.meet(Place::Charging);
        anyhow::Ok(receipt)
    })
    .await??;
    fate.meet(Place::Charged);
    let parcel = job
        .step("ship", async |key| {
            let parcel = outside.ask("ship", key, order_id).await?;
            fate.meet(Place::Shipping);
            anyhow::Ok(parcel)
        })
        .await??;
    fate.meet(Place::Shipped);
    DB::close_order(job.tx().await?, order_id, &parcel).await?;
    fate.meet(Place::Closing);
    Ok(parcel)
}
