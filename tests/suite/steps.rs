//! Recovery points: a retry goes on where the attempt before it stopped.

use std::sync::Mutex;

use idempotent_runtime::{Error, Job, Outcome, idempotent};

use super::business::{Failure, Gateway, Receipt, leave};
use crate::db::Db;
use crate::world::World;

/// Reserves, charges and ships; fails before the step that `fail_before` names.
#[idempotent(key = "fulfil_<order_id>", ignore(fail_before))]
async fn fulfil(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
    fail_before: &str,
) -> Result<Vec<String>, Failure> {
    let stop = |step| match step == fail_before {
        true => Err(Failure::Refused("stopped")),
        false => Ok(()),
    };
    stop("reserve")?;
    job.tx_step("reserve", async |conn| leave(conn, "reserve").await)
        .await??;
    stop("charge")?;
    let receipt = job
        .step("charge", async |key| {
            Ok::<_, Failure>(gateway.charge(key.as_str()).await)
        })
        .await??;
    stop("ship")?;
    let parcel = job
        .step("ship", async |key| {
            Ok::<_, Failure>(gateway.charge(key.as_str()).await)
        })
        .await??;
    stop("end")?;
    leave(job.tx().await?, "end").await?;
    Ok(vec![receipt.id, parcel.id])
}

async fn a_retry_goes_on_after_the_last_recorded_step(world: World<Db>) {
    let gateway = Gateway::default();
    for step in ["reserve", "charge", "ship", "end"] {
        let error = fulfil(&world.store, &gateway, 7, step).await.unwrap_err();
        assert!(matches!(error, Failure::Refused(_)), "{error}");
    }
    let done = fulfil(&world.store, &gateway, 7, "").await.unwrap();
    let ids = vec!["r_fulfil_7/charge".to_owned(), "r_fulfil_7/ship".to_owned()];
    assert_eq!(done, Outcome::Performed(ids.clone()));
    assert_eq!(
        fulfil(&world.store, &gateway, 7, "").await.unwrap(),
        Outcome::Replayed(ids)
    );
    assert_eq!(gateway.requests(), 2);
    assert_eq!(
        (world.effects("reserve").await, world.effects("end").await),
        (1, 1)
    );
}

/// T4: two outside calls in one body have two keys, each the same on every attempt.
async fn each_step_has_a_key_of_its_own_on_every_attempt(world: World<Db>) {
    let gateway = Gateway::default();
    for step in ["ship", "end", ""] {
        let _ = fulfil(&world.store, &gateway, 8, step).await;
    }
    let requests = gateway.keys();
    assert_eq!(requests, ["fulfil_8/charge", "fulfil_8/ship"]);
}

static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whose step fails after its effect, as one that is cut off before its record.
#[idempotent(key = "cut_<n>", ignore(cut))]
async fn cut_step(job: &mut Job<'_, Db>, n: i64, cut: bool) -> Result<(), Failure> {
    job.step("effect", async |key| {
        SEEN.lock().unwrap().push(key.to_string());
        if cut {
            Err(Failure::Refused("cut off"))
        } else {
            Ok(())
        }
    })
    .await?
}

/// 39: a step that is cut off before its record repeats with the same outside key.
async fn a_step_without_a_record_repeats_with_its_key(world: World<Db>) {
    cut_step(&world.store, 1, true).await.unwrap_err();
    assert!(
        cut_step(&world.store, 1, false)
            .await
            .unwrap()
            .is_performed()
    );
    let seen = SEEN.lock().unwrap();
    assert_eq!(*seen, ["cut_1/effect", "cut_1/effect"]);
}

#[idempotent(key = "late_<n>")]
async fn step_after_tx(job: &mut Job<'_, Db>, n: i64) -> Result<(), Failure> {
    leave(job.tx().await?, "late").await?;
    job.step("late", async |_| Ok::<_, Failure>(())).await?
}

async fn a_step_after_the_transaction_is_an_error_at_once(world: World<Db>) {
    let error = step_after_tx(&world.store, 1).await.unwrap_err();
    assert!(matches!(error.runtime(), Error::StepAfterTx { step, .. } if step == "late"));
    assert_eq!(world.effects("late").await, 0);
}

#[idempotent(key = "loop_<n>")]
async fn in_a_loop(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    n: i64,
) -> Result<Vec<Receipt>, Failure> {
    let mut receipts = Vec::new();
    for item in 0..n {
        let step = format!("item-{item}");
        let receipt = job
            .step(step, async |key| {
                Ok::<_, Failure>(gateway.charge(key.as_str()).await)
            })
            .await??;
        receipts.push(receipt);
    }
    Ok(receipts)
}

async fn steps_in_a_loop_are_named_by_what_it_goes_over(world: World<Db>) {
    let (store, gateway) = (world.store.clone(), Gateway::default());
    // In a task of its own: the future is `Send`.
    let receipts = tokio::spawn(async move { in_a_loop(store, &gateway, 3).await }).await;
    let receipts = receipts.unwrap().unwrap().into_value();
    assert_eq!(receipts[2].id, "r_loop_3/item-2");
}

/// So is that of a job with steps of both kinds and a transaction.
async fn a_job_in_steps_runs_in_a_task_of_its_own(world: World<Db>) {
    let (store, gateway) = (world.store.clone(), Gateway::default());
    let done = tokio::spawn(async move { fulfil(store, &gateway, 9, "").await }).await;
    assert!(done.unwrap().unwrap().is_performed());
    let effects = (world.effects("reserve").await, world.effects("end").await);
    assert_eq!(effects, (1, 1));
}

idempotent_tests::tests!(
    a_retry_goes_on_after_the_last_recorded_step,
    each_step_has_a_key_of_its_own_on_every_attempt,
    a_step_without_a_record_repeats_with_its_key,
    a_step_after_the_transaction_is_an_error_at_once,
    steps_in_a_loop_are_named_by_what_it_goes_over,
    a_job_in_steps_runs_in_a_task_of_its_own,
);
