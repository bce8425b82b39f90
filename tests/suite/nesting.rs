//! Jobs that reach keys which their own callers hold: an error at once, and no hang.

use std::time::Duration;

use idempotent_runtime::{Error, Job, Store, idempotent};
use tokio::sync::Barrier;
use tokio::time::timeout;

use super::business::{Failure, leave, note};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase, World};

/// Something that hangs is a failure, and not a test that never ends.
async fn at_once<T>(call: impl Future<Output = T>) -> T {
    let done = timeout(Duration::from_secs(4), call).await;
    done.expect("an answer at once")
}

fn is_nested(error: &Failure) -> bool {
    matches!(error.runtime(), Error::Nested { .. }) && !error.runtime().is_retryable()
}

#[idempotent(key = "self_<id>")]
async fn calls_itself(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    leave(&mut *conn, "self").await?;
    let below = Box::pin(calls_itself(&mut *conn, id)).await?;
    Ok(below.into_value())
}

#[idempotent(key = "self_leased_<id>", lease = 30s)]
async fn calls_itself_leased(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
    let below = Box::pin(calls_itself_leased(job.store(), id)).await?;
    Ok(below.into_value())
}

/// 27: a job that calls itself with its own key hears so at once; with another key it may.
async fn a_job_that_reaches_its_own_key_is_an_error(world: World<Db>) {
    let error = at_once(calls_itself(&world.store, 1)).await.unwrap_err();
    assert!(is_nested(&error), "{error:?}");
    assert_eq!(
        (world.effects("self").await, world.rows("self_1").await),
        (0, 0)
    );
    let error = at_once(calls_itself_leased(&world.store, 1))
        .await
        .unwrap_err();
    assert!(is_nested(&error), "{error:?}");
}

#[idempotent(key = "through_<id>")]
async fn through_another(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
    let below = Box::pin(back_again(job.store(), id)).await?;
    Ok(below.into_value())
}

#[idempotent(key = "back_<id>")]
async fn back_again(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
    let below = Box::pin(through_another(job.store(), id)).await?;
    Ok(below.into_value())
}

/// 27: the same through another job.
async fn a_circle_of_jobs_is_an_error(world: World<Db>) {
    let error = at_once(through_another(&world.store, 1)).await.unwrap_err();
    assert!(is_nested(&error), "{error:?}");
}

#[idempotent(key = "storing_<id>", ignore(store))]
async fn goes_through_the_store(
    conn: &mut Conn,
    store: &Store<Db>,
    id: i64,
) -> Result<i64, Failure> {
    leave(conn, "storing").await?;
    note(store, "within").await?.into_value();
    Ok(id)
}

/// 11: a claim through the store inside a body that holds a transaction: where there is one writer
/// only, it would wait for itself, and hears so; elsewhere it is a transaction of its own.
async fn a_claim_beside_the_bodys_transaction_does_not_hang(world: World<Db>) {
    let called = at_once(goes_through_the_store(&world.store, &world.store, 1)).await;
    match Db::ONE_WRITER {
        true => {
            let error = called.unwrap_err();
            assert!(is_nested(&error), "{error:?}");
            assert!(error.to_string().contains("&mut *conn"), "{error}");
            assert_eq!(world.effects("storing").await, 0);
        }
        false => assert!(called.unwrap().is_performed()),
    }
}

#[idempotent(key = "crossed_<own>", wait = 300ms, lease = 30s, ignore(barrier, other))]
async fn crossed(
    job: &mut Job<'_, Db>,
    own: i64,
    other: i64,
    barrier: Option<&Barrier>,
) -> Result<i64, Failure> {
    if let Some(barrier) = barrier {
        barrier.wait().await;
        Box::pin(crossed(job.store(), other, own, None))
            .await?
            .into_value();
    }
    leave(job.tx().await?, "crossed").await?;
    Ok(own)
}

/// 28: two jobs that call each other's keys in opposite order: a retryable error, no deadlock, and
/// after the retry both are done.
async fn two_jobs_that_cross_are_not_stuck(world: World<Db>) {
    let barrier = Barrier::new(2);
    let (one, other) = at_once(async {
        tokio::join!(
            crossed(&world.store, 1, 2, Some(&barrier)),
            crossed(&world.store, 2, 1, Some(&barrier)),
        )
    })
    .await;
    let failed: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
    assert!(!failed.is_empty(), "both hold what the other wants");
    for error in failed {
        assert!(error.runtime().is_retryable(), "{error:?}");
    }
    let alone = Barrier::new(1);
    for (own, other) in [(1, 2), (2, 1)] {
        crossed(&world.store, own, other, Some(&alone))
            .await
            .unwrap()
            .into_value();
    }
    assert_eq!(world.effects("crossed").await, 2);
}

/// Keys that are held belong to a task's own calls: another task just waits.
async fn another_task_is_not_nested(world: World<Db>) {
    #[idempotent(key = "spawning_<id>", lease = 30s)]
    async fn spawning(job: &mut Job<'_, Db>, id: i64) -> Result<String, Failure> {
        let store = job.store().clone();
        let other = tokio::spawn(async move { note(&store, "spawned").await });
        let noted = other.await.expect("no panic")?.into_value();
        Ok(format!("{noted} {id}"))
    }
    let done = at_once(spawning(&world.store, 1)).await.unwrap();
    assert_eq!(done.into_value(), "noted spawned 1");
}

idempotent_tests::tests!(
    a_job_that_reaches_its_own_key_is_an_error,
    a_circle_of_jobs_is_an_error,
    a_claim_beside_the_bodys_transaction_does_not_hang,
    two_jobs_that_cross_are_not_stuck,
    another_task_is_not_nested,
);
