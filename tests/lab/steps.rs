//! A job in steps, in the lab: right, and with an effect beside its step.

use idempotent_runtime::testing::{Cause, LabError, Scenario};
use idempotent_runtime::{Job, idempotent};

use super::outside::{Failure, Gateway, schema};
use super::shop::passes;
use crate::db::{Conn, Db, sql};
use crate::lab;

async fn take_a_piece(conn: &mut Conn) -> sqlx::Result<()> {
    sqlx::query("UPDATE stock SET pieces = pieces - 1")
        .execute(conn)
        .await
        .map(drop)
}

/// Reserves, charges and ships.
#[idempotent(key = "fulfil_<order_id>")]
async fn fulfil(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<String, Failure> {
    job.tx_step("reserve", async |conn| take_a_piece(conn).await)
        .await??;
    let receipt = job
        .step("charge", async |key| {
            Ok::<_, Failure>(gateway.charge("an order", Some(key.as_str())).await)
        })
        .await??;
    job.step("ship", async |key| {
        Ok::<_, Failure>(gateway.charge("a parcel", Some(key.as_str())).await)
    })
    .await??;
    sqlx::query(sql(
        "INSERT INTO payments (order_id, receipt) VALUES (?, ?)",
    ))
    .bind(order_id)
    .bind(&receipt)
    .execute(job.tx().await?)
    .await?;
    Ok(receipt)
}

async fn fulfil_is_idempotent() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| {
            schema(db, &["stock", "payments"]).await?;
            Ok(Gateway::default())
        })
        .job(async |store, gateway| fulfil(store, gateway, 42).await)
        .observe(Gateway::charges)
        .run()
        .await?;
    passes("fulfil", &report);
    Ok(())
}

/// Takes the piece in a step that does not commit it with its record.
#[idempotent(key = "beside_<order_id>")]
async fn reserve_beside(job: &mut Job<'_, Db>, order_id: i64) -> Result<(), Failure> {
    let pool = job.pool().clone();
    job.step("reserve", async |_| {
        take_a_piece(&mut *pool.acquire().await?).await?;
        Ok::<_, Failure>(order_id)
    })
    .await?
    .map(drop)
}

async fn a_step_that_writes_past_its_record() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(schema(db, &["stock"]).await?))
        .job(async |store, ()| reserve_beside(store, 42).await)
        .run()
        .await?;
    let said = report.to_string();
    let first = report.differences().first().expect("it is found");
    assert_eq!(first.cause(), Some(&Cause::WriteOutsideTx), "{said}");
    let Scenario::Killed(at) = first.scenario() else {
        panic!("{said}");
    };
    let statement = at.statement().expect("it was cut after one");
    assert!(statement.starts_with("UPDATE stock"), "{said}");
    assert_eq!(
        first.diff(),
        "table `stock`: 1 row missing, 1 row too many\n  - pieces: 9\n  + pieces: 8"
    );
    assert!(said.contains("`job.tx_step(…)`"), "{said}");
    Ok(())
}

super::list!(fulfil_is_idempotent, a_step_that_writes_past_its_record);
