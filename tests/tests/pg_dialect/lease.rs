//! Leased jobs: what waits for what.

use std::time::Duration;

use idempotent_runtime::{Error, Job, Postgres, idempotent};
use sqlx::Row;

use crate::work::{Failure, PgWorld, another, leave};

#[idempotent(key = "zombie_<n>", lease = 30s)]
async fn zombie(job: &mut Job<'_, Postgres>, n: i64) -> Result<(), Failure> {
    let pool = job.pool().clone();
    job.step("charge", async |_| {
        // Somebody else takes over, and has not committed yet when the step is recorded.
        let mut thief = pool.begin().await?;
        sqlx::query("UPDATE idempotent_keys SET owner = 'thief', fence = fence + 1, attempts = 2")
            .execute(&mut *thief)
            .await?;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            thief.commit().await.expect("a commit");
        });
        Ok::<_, Failure>(())
    })
    .await?
}

/// A step that looks at the key as its snapshot has it would be recorded.
async fn a_step_of_an_attempt_that_has_lost_its_key_is_not_recorded(world: PgWorld) {
    let error = zombie(&world.store, 1).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::LeaseLost { .. }),
        "{error:?}"
    );
    let steps = world
        .number("SELECT count(*) FROM idempotent_steps WHERE key <> ?", "")
        .await;
    assert_eq!(steps, 0);
}

#[idempotent(key = "slow_<n>", lease = 600ms, wait = 0s)]
async fn slow(job: &mut Job<'_, Postgres>, n: i64) -> Result<u64, Failure> {
    let tx = job.tx().await?;
    leave(&mut *tx, "slow").await?;
    let mut renewed = 0;
    let mut last = String::new();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // READ COMMITTED: each statement sees what the heartbeats have committed.
        let row = sqlx::query("SELECT lease_until::text FROM idempotent_keys")
            .fetch_one(&mut *tx)
            .await?;
        let until: String = row.try_get(0)?;
        renewed += u64::from(until != last);
        last = until;
    }
    Ok(renewed)
}

/// The completion transaction locks the key's row in its last statement only, or its own heartbeats
/// would wait for it.
async fn heartbeats_go_on_while_the_completion_transaction_is_open(world: PgWorld) {
    let other = another(&world).await;
    let job = tokio::spawn({
        let store = world.store.clone();
        async move { slow(&store, 1).await }
    });
    for _ in 0..15 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let error = slow(&other, 1).await.unwrap_err();
        assert!(matches!(error.runtime(), Error::Busy { .. }), "{error:?}");
    }
    let renewed = job.await.unwrap().unwrap().into_value();
    assert!(renewed >= 6, "{renewed}");
    assert_eq!(world.effects("slow").await, 1);
    assert!(slow(&other, 1).await.unwrap().is_replayed());
}

idempotent_tests::tests!(
    a_step_of_an_attempt_that_has_lost_its_key_is_not_recorded,
    heartbeats_go_on_while_the_completion_transaction_is_open,
);
