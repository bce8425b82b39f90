//! Duplicates of other processes wait for the claim's transaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use idempotent_runtime::{Error, idempotent};
use sqlx::PgConnection;
use tokio::sync::Semaphore;

use crate::work::{Failure, PgWorld, another, held, leave, plain, store_with, until_waiting};

async fn twenty_waiters_have_one_winner(world: PgWorld) {
    let gate = Arc::new(Semaphore::new(0));
    let calls = start(&world, &gate, 20, |_| false).await;
    until_waiting(&world, 19).await;
    gate.add_permits(1);
    let mut performed = 0;
    for call in calls {
        let outcome = call.await.unwrap().unwrap();
        performed += usize::from(outcome.is_performed());
        assert_eq!(outcome.value(), Some(1));
    }
    assert_eq!((performed, world.effects("held_1").await), (1, 1));
}

/// Each failing winner lets the next waiter in, until one succeeds.
async fn a_waiter_runs_when_the_first_rolls_back(world: PgWorld) {
    let gate = Arc::new(Semaphore::new(0));
    let calls = start(&world, &gate, 6, |i| i != 5).await;
    until_waiting(&world, 5).await;
    gate.add_permits(6);
    let (mut failed, mut performed, mut replayed) = (0, 0, 0);
    for call in calls {
        match call.await.unwrap() {
            Ok(outcome) if outcome.is_performed() => performed += 1,
            Ok(_) => replayed += 1,
            Err(Failure::Refused) => failed += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(performed, 1, "{failed} failed, {replayed} replayed");
    assert_eq!(world.effects("held_1").await, 1);
}

async fn start(
    world: &PgWorld,
    gate: &Arc<Semaphore>,
    stores: usize,
    fail: impl Fn(usize) -> bool,
) -> Vec<
    tokio::task::JoinHandle<
        Result<idempotent_runtime::Outcome<i64, idempotent_runtime::Never>, Failure>,
    >,
> {
    let mut calls = Vec::new();
    for i in 0..stores {
        let (store, gate, fail) = (another(world).await, Arc::clone(gate), fail(i));
        calls.push(tokio::spawn(
            async move { held(&store, &gate, 1, fail).await },
        ));
    }
    calls
}

#[idempotent(key = "brief_<n>", wait = 300ms)]
async fn brief(
    conn: &mut PgConnection,
    gate: &Semaphore,
    n: i64,
    fail: &str,
) -> Result<(), Failure> {
    leave(conn, "brief").await?;
    gate.acquire().await.expect("an open gate").forget();
    if fail.is_empty() {
        Ok(())
    } else {
        Err(Failure::Refused)
    }
}

#[idempotent(key = "brief_<n>", wait = 0s, name = "at_once")]
async fn at_once(conn: &mut PgConnection, n: i64) -> Result<(), Failure> {
    leave(conn, "at once").await?;
    Ok(())
}

async fn a_wait_that_is_over_is_busy_and_leaves_the_connection_clean(world: PgWorld) {
    let gate = Arc::new(Semaphore::new(0));
    let first = tokio::spawn({
        let (store, gate) = (world.store.clone(), Arc::clone(&gate));
        async move { brief(&store, &gate, 1, "").await }
    });
    let other = another(&world).await;
    while world.effects("brief").await == 0 && crate::work::stuck(&world).await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let began = Instant::now();
    let error = brief(&other, &gate, 1, "").await.unwrap_err();
    let took = began.elapsed();
    assert!(matches!(error.runtime(), Error::Busy { .. }), "{error:?}");
    assert!(error.runtime().is_retryable());
    assert!(
        took > Duration::from_millis(290) && took < Duration::from_millis(900),
        "{took:?}"
    );

    let began = Instant::now();
    let error = at_once(&other, 1).await.unwrap_err();
    assert!(matches!(error.runtime(), Error::Busy { .. }), "{error:?}");
    assert!(
        began.elapsed() < Duration::from_millis(300),
        "{:?}",
        began.elapsed()
    );

    gate.add_permits(1);
    assert!(first.await.unwrap().unwrap().is_performed());
    assert!(brief(&other, &gate, 1, "").await.unwrap().is_replayed());
}

/// `lock_timeout` begins anew for each holder; the call's own clock does not.
async fn failing_winners_do_not_stretch_the_wait(world: PgWorld) {
    let gate = Arc::new(Semaphore::new(0));
    let mut stores = Vec::new();
    for _ in 0..15 {
        stores.push(another(&world).await);
        let ready = plain(&stores[stores.len() - 1], 1).await;
        ready.unwrap();
    }
    let mut winners = Vec::new();
    for store in stores {
        let gate = Arc::clone(&gate);
        winners.push(tokio::spawn(
            async move { brief(&store, &gate, 1, "yes").await },
        ));
    }
    let feeder = tokio::spawn({
        let gate = Arc::clone(&gate);
        async move {
            for _ in 0..15 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                gate.add_permits(1);
            }
        }
    });
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    for winner in winners {
        let _ = winner.await.unwrap();
        longest = longest.max(began.elapsed());
    }
    // 300 ms to wait for the claim, 1 s of grace, and the body of the last winner; not 15 bodies.
    assert!(longest < Duration::from_millis(2200), "{longest:?}");
    feeder.abort();
}

#[idempotent(key = "limits_<n>")]
async fn limits(conn: &mut PgConnection, n: i64) -> Result<(String, String, String), Failure> {
    let row = sqlx::query_as(
        "SELECT current_setting('lock_timeout'), \
         current_setting('idle_in_transaction_session_timeout'), \
         current_setting('transaction_isolation')",
    )
    .fetch_one(conn)
    .await?;
    Ok(row)
}

async fn the_wait_governs_the_claim_and_nothing_after_it(world: PgWorld) {
    let (lock, idle, isolation) = limits(&world.store, 1).await.unwrap().into_value();
    assert_eq!(
        (&*lock, &*idle, &*isolation),
        ("0", "1min", "read committed")
    );

    let settings = [
        ("lock_timeout", "7s"),
        ("idle_in_transaction_session_timeout", "20s"),
        ("default_transaction_isolation", "serializable"),
    ];
    let store = store_with(&world, 1, &settings).await;
    let (lock, idle, isolation) = limits(&store, 2).await.unwrap().into_value();
    assert_eq!(
        (&*lock, &*idle, &*isolation),
        ("7s", "20s", "read committed")
    );

    // Nor does it outlive the job in a transaction that it joined.
    let mut tx = world.store.begin().await.unwrap();
    let (lock, ..) = limits(&mut tx, 3).await.unwrap().into_value();
    assert_eq!(lock, "0");
    assert!(limits(&mut tx, 1).await.unwrap().is_replayed());
    let after: String = sqlx::query_scalar("SHOW lock_timeout")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    assert_eq!(after, "0");
    tx.commit().await.unwrap();
}

/// What governs the body, once its claim has got its turn.
#[idempotent(key = "turn_<n>", ignore(fail))]
async fn turn(
    conn: &mut PgConnection,
    gate: &Semaphore,
    n: i64,
    fail: bool,
) -> Result<(String, String), Failure> {
    let limits = sqlx::query_as(
        "SELECT current_setting('lock_timeout'), \
         current_setting('idle_in_transaction_session_timeout')",
    )
    .fetch_one(&mut *conn)
    .await?;
    leave(conn, "turn").await?;
    gate.acquire().await.expect("an open gate").forget();
    if fail {
        Err(Failure::Refused)
    } else {
        Ok(limits)
    }
}

/// Through a store and on a connection of the caller's: both wait, one runs, and the other replays.
async fn a_claim_that_has_waited_leaves_no_limit_behind(world: PgWorld) {
    let gate = Arc::new(Semaphore::new(0));
    let first = tokio::spawn({
        let (store, gate) = (world.store.clone(), Arc::clone(&gate));
        async move { turn(&store, &gate, 1, true).await }
    });
    idempotent_tests::world::eventually("the first holds the key", || async {
        let locks: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database \
             WHERE locktype = 'advisory' AND datname = current_database()",
        )
        .fetch_one(world.store.pool())
        .await
        .expect("a count");
        locks == 1
    })
    .await;
    let second = tokio::spawn({
        let (store, gate) = (another(&world).await, Arc::clone(&gate));
        async move { turn(&store, &gate, 1, false).await }
    });
    let third = tokio::spawn({
        let mut conn = another(&world).await.pool().acquire().await.unwrap();
        let gate = Arc::clone(&gate);
        async move { turn(&mut *conn, &gate, 1, false).await }
    });
    until_waiting(&world, 2).await;
    gate.add_permits(2);
    assert!(matches!(first.await.unwrap(), Err(Failure::Refused)));
    let mut performed = 0;
    for waiter in [second, third] {
        let outcome = waiter.await.unwrap().unwrap();
        performed += usize::from(outcome.is_performed());
        let limits = outcome.into_value();
        assert_eq!(limits, ("0".to_owned(), "1min".to_owned()));
    }
    assert_eq!((performed, world.effects("turn").await), (1, 1));
}

/// A row that somebody holds without the key's lock, as raw SQL does: no limit of the server's governs
/// that wait, so the call gives up by its own clock, and closes the connection that still waits.
async fn a_row_that_raw_sql_holds_is_waited_for_a_second_longer(world: PgWorld) {
    let mut holder = world.store.pool().begin().await.unwrap();
    sqlx::query(
        "INSERT INTO idempotent_keys (key, job, status, owner, fence, attempts, first_at, claimed_at) \
         VALUES ('brief_1', 'another', 0, '\\x00', 1, 1, now(), now())",
    )
    .execute(&mut *holder)
    .await
    .unwrap();
    let (gate, other) = (Semaphore::new(1), another(&world).await);
    let began = Instant::now();
    let error = brief(&other, &gate, 1, "").await.unwrap_err();
    let took = began.elapsed();
    assert!(matches!(error.runtime(), Error::Busy { .. }), "{error:?}");
    // Its wait, the second, and a tick of the clock's.
    assert!(
        took >= Duration::from_millis(1300) && took < Duration::from_millis(3000),
        "{took:?}"
    );
    assert_eq!(other.pool().size(), 0, "the connection is closed");
    holder.rollback().await.unwrap();
    assert!(brief(&other, &gate, 1, "").await.unwrap().is_performed());
    assert_eq!(world.effects("brief").await, 1);
}

idempotent_tests::tests!(
    twenty_waiters_have_one_winner,
    a_waiter_runs_when_the_first_rolls_back,
    a_wait_that_is_over_is_busy_and_leaves_the_connection_clean,
    failing_winners_do_not_stretch_the_wait,
    the_wait_governs_the_claim_and_nothing_after_it,
    a_claim_that_has_waited_leaves_no_limit_behind,
    a_row_that_raw_sql_holds_is_waited_for_a_second_longer,
);
