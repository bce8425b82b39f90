//! Pools that have nothing left to give.

use std::time::Duration;

use idempotent_runtime::{Error, Job, idempotent};
use tokio::time::{Instant, sleep};

use super::business::{Failure, leave, note};
use crate::db::Db;
use crate::world::World;

#[idempotent(key = "pooled_lease_<id>", lease = 1s)]
async fn pooled_lease(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
    leave(job.tx().await?, "pooled_lease").await?;
    Ok(id)
}

/// 11: an exhausted pool is a retryable error before the claim: nothing has run, and the retry does.
async fn an_exhausted_pool_refuses_before_the_claim(world: World<Db>) {
    let store = world.impatient(1, Duration::from_millis(200)).await;
    // The first call looks at the tables; here it is the pool that is looked at.
    assert!(note(&store, "opens").await.unwrap().is_performed());
    let taken = store.pool().acquire().await.unwrap();
    let errors = [
        note(&store, "exhausted").await.unwrap_err(),
        pooled_lease(&store, 1).await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(
                error.runtime(),
                Error::Database {
                    retryable: true,
                    ..
                }
            ),
            "{error:?}"
        );
    }
    assert_eq!(
        (
            world.rows("pooled_lease_1").await,
            world.effects("exhausted").await,
            world.effects("pooled_lease").await
        ),
        (0, 0, 0)
    );
    drop(taken);
    assert!(note(&store, "exhausted").await.unwrap().is_performed());
    assert!(pooled_lease(&store, 1).await.unwrap().is_performed());
}

#[idempotent(key = "greedy_<id>", lease = 1s, wait = 0s)]
async fn greedy(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
    let all = job.pool().options().get_max_connections();
    let mut taken = Vec::new();
    for _ in 0..all {
        taken.push(job.pool().acquire().await?);
    }
    // Three leases long: time itself is what is tested here.
    sleep(Duration::from_secs(3)).await;
    drop(taken);
    leave(job.tx().await?, "greedy").await?;
    Ok(id)
}

/// 11: a lease is renewed although its job has taken every connection of the pool.
async fn a_heartbeat_gets_through_an_exhausted_pool(world: World<Db>) {
    let (store, another) = (world.another(2).await, world.another(2).await);
    let first = tokio::spawn(async move { greedy(&store, 1).await });
    let end = Instant::now() + Duration::from_secs(2);
    world_has(&world, "greedy_1").await;
    while Instant::now() < end {
        let busy = greedy(&another, 1).await.unwrap_err();
        assert!(matches!(busy.runtime(), Error::Busy { .. }), "{busy:?}");
        sleep(Duration::from_millis(50)).await;
    }
    assert!(first.await.unwrap().unwrap().is_performed());
    assert_eq!(
        (world.fence("greedy_1").await, world.effects("greedy").await),
        (1, 1)
    );
}

async fn world_has(world: &World<Db>, key: &'static str) {
    idempotent_tests::world::eventually("the key is claimed", || async {
        world.rows(key).await == 1
    })
    .await;
}

idempotent_tests::tests!(
    an_exhausted_pool_refuses_before_the_claim,
    a_heartbeat_gets_through_an_exhausted_pool,
);
