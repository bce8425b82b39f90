//! Claims that meet an unfinished one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use idempotent_runtime::{Error, idempotent};
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

use super::words::{Failure, assert_clean, leave, raw};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "slow_<n>", ignore(gate, arrived, fails), wait = 10s)]
async fn slow(
    conn: &mut Conn,
    n: i64,
    gate: &Semaphore,
    arrived: &Semaphore,
    fails: bool,
) -> Result<i64, Failure> {
    leave(conn, "slow").await?;
    arrived.add_permits(1);
    gate.acquire().await.expect("open").forget();
    if fails { Err(Failure::Refused) } else { Ok(n) }
}

/// 20 waiters on stores of their own: one winner, 20 replays.
async fn twenty_waiters_replay_the_winner(world: World<Db>) {
    waiters(&world, false).await;
}

/// The first one rolls back: exactly one of the waiters runs.
async fn where_the_first_rolls_back_one_waiter_runs(world: World<Db>) {
    waiters(&world, true).await;
}

async fn waiters(world: &World<Db>, fails: bool) {
    let (gate, arrived) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let first = tokio::spawn({
        let (store, gate, arrived) = (world.store.clone(), Arc::clone(&gate), Arc::clone(&arrived));
        async move { slow(&store, 1, &gate, &arrived, fails).await }
    });
    arrived.acquire().await.unwrap().forget();
    let mut tasks = JoinSet::new();
    let ready = Arc::new(Barrier::new(21));
    for _ in 0..20 {
        let store = world.another(2).await;
        let (gate, arrived, ready) = (Arc::clone(&gate), Arc::clone(&arrived), Arc::clone(&ready));
        tasks.spawn(async move {
            ready.wait().await;
            slow(&store, 1, &gate, &arrived, false)
                .await
                .map(|outcome| outcome.is_performed())
        });
    }
    ready.wait().await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(arrived.available_permits(), 0, "nobody else runs");
    let began = Instant::now();
    gate.add_permits(100);
    let all: Vec<bool> = tasks
        .join_all()
        .await
        .into_iter()
        .map(|done| done.unwrap())
        .collect();
    eprintln!(
        "20 waiters, first {}: all answered after {:?}",
        if fails { "failed" } else { "won" },
        began.elapsed()
    );
    assert_eq!(first.await.unwrap().is_err(), fails);
    let performed = all.iter().filter(|performed| **performed).count();
    assert_eq!(performed, usize::from(fails));
    assert_eq!(world.effects("slow").await, 1);
    assert_clean(&world.store).await;
}

/// `wait = 0s` is busy at once; a fraction of a second is waited for, and no more.
async fn a_wait_is_as_long_as_it_says(world: World<Db>) {
    mod names {
        use super::*;
        #[idempotent(key = "held_<n>", name = "held_0", wait = 0s)]
        pub async fn not_at_all(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
            leave(conn, "held").await?;
            Ok(n)
        }
        #[idempotent(key = "held_<n>", name = "held_300", wait = 300ms)]
        pub async fn a_moment(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
            leave(conn, "held").await?;
            Ok(n)
        }
        #[idempotent(key = "held_<n>", name = "held_1500", wait = 1500ms)]
        pub async fn a_while(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
            leave(conn, "held").await?;
            Ok(n)
        }
    }
    // Somebody else's uncommitted claim.
    let mut holder = world.store.begin().await.unwrap();
    sqlx::query(
        "INSERT INTO idempotent_keys (`key`, job, status, owner, fence, attempts, first_at, claimed_at) \
         VALUES ('held_1', 'x', 0, '', 1, 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))",
    )
    .execute(&mut *holder)
    .await
    .unwrap();
    let store = world.another(2).await;
    let mut outer = world.store.begin().await.unwrap();
    raw(&mut outer, "SELECT 1").await.unwrap();
    for joined in [false, true] {
        for millis in [0u64, 300, 1500] {
            let began = Instant::now();
            let answer = match (millis, joined) {
                (0, false) => names::not_at_all(&store, 1).await,
                (300, false) => names::a_moment(&store, 1).await,
                (_, false) => names::a_while(&store, 1).await,
                (0, true) => names::not_at_all(&mut outer, 1).await,
                (300, true) => names::a_moment(&mut outer, 1).await,
                (_, true) => names::a_while(&mut outer, 1).await,
            };
            let took = began.elapsed();
            let error = answer.unwrap_err();
            assert!(matches!(error.runtime(), Error::Busy { .. }), "{error:?}");
            let wait = Duration::from_millis(millis);
            assert!(took >= wait, "{took:?} for {wait:?}");
            assert!(
                took < wait + Duration::from_millis(700),
                "{took:?} for {wait:?}"
            );
        }
    }
    // The caller's transaction is as it was, and so is its session.
    leave(&mut outer, "outer").await.unwrap();
    let timeout: i64 = sqlx::query_scalar("SELECT CAST(@@innodb_lock_wait_timeout AS SIGNED)")
        .fetch_one(&mut *outer)
        .await
        .unwrap();
    outer.commit().await.unwrap();
    assert_eq!((timeout, world.effects("outer").await), (50, 1));
    holder.rollback().await.unwrap();
    assert!(names::not_at_all(&store, 1).await.unwrap().is_performed());
}

idempotent_tests::tests!(
    twenty_waiters_replay_the_winner,
    where_the_first_rolls_back_one_waiter_runs,
    a_wait_is_as_long_as_it_says,
);
