//! Many tasks, few connections, few keys, and bodies that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use idempotent_runtime::{Job, PgStore, Postgres, idempotent};
use idempotent_tests::world::{TestDatabase, eventually};
use sqlx::PgConnection;

use crate::work::{Failure, PgWorld, leave, stuck};

const KEYS: i64 = 500;
const TASKS: i64 = 64;

static ATTEMPT: AtomicU32 = AtomicU32::new(0);

fn a_third_fails() -> Result<(), Failure> {
    if ATTEMPT.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
        Err(Failure::Refused)
    } else {
        Ok(())
    }
}

#[idempotent(key = "storm_<n>", wait = 10s)]
async fn storm(conn: &mut PgConnection, n: i64) -> Result<i64, Failure> {
    leave(&mut *conn, &format!("storm_{n}")).await?;
    a_third_fails()?;
    Ok(n)
}

#[idempotent(key = "storm_leased_<n>", lease = 30s, wait = 10s)]
async fn storm_leased(job: &mut Job<'_, Postgres>, n: i64) -> Result<i64, Failure> {
    leave(job.tx().await?, &format!("storm_leased_{n}")).await?;
    a_third_fails()?;
    Ok(n)
}

/// Calls for each key from several tasks at once, each until it has an answer; gives the calls, the
/// failures of bodies, and the errors that were retryable.
async fn calls(stores: Vec<PgStore>, leased: bool) -> (u32, u32, u32) {
    let (calls, refused, retried) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let counts = Arc::new((calls, refused, retried));
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let store = stores[usize::try_from(task).unwrap() % stores.len()].clone();
        let counts = Arc::clone(&counts);
        tasks.push(tokio::spawn(async move {
            // Each key is called by eight tasks, each of which goes its own way through the keys.
            let mut n = task * 61 % KEYS;
            for _ in 0..KEYS * 8 / TASKS {
                n = (n + 7) % KEYS;
                loop {
                    counts.0.fetch_add(1, Ordering::Relaxed);
                    let result = match leased {
                        true => storm_leased(&store, n).await,
                        false => storm(&store, n).await,
                    };
                    match result {
                        Ok(outcome) => {
                            assert_eq!(outcome.value(), Some(n));
                            break;
                        }
                        Err(Failure::Refused) => {
                            counts.1.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Failure::Idempotent(error)) if error.is_retryable() => {
                            eprintln!("retryable: {error}");
                            counts.2.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let counts = [&counts.0, &counts.1, &counts.2].map(|count| count.load(Ordering::Relaxed));
    (counts[0], counts[1], counts[2])
}

async fn check(world: &PgWorld, prefix: &str, expected: i64) {
    let row: (i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM idempotent_keys WHERE status = 1 AND key LIKE $1 || '%'), \
         (SELECT count(*) FROM effects WHERE name LIKE $1 || '%'), \
         (SELECT count(DISTINCT name) FROM effects WHERE name LIKE $1 || '%')",
    )
    .bind(prefix)
    .fetch_one(world.store.pool())
    .await
    .unwrap();
    assert_eq!(row, (expected, expected, expected), "{prefix}");
}

async fn one_process_of_64_tasks_on_8_connections(world: PgWorld) {
    for (leased, prefix) in [(false, "storm_"), (true, "storm_leased_")] {
        world.run("DELETE FROM effects").await;
        world.run("DELETE FROM idempotent_keys").await;
        let began = Instant::now();
        let (calls, refused, retried) = calls(vec![world.store.clone()], leased).await;
        let took = began.elapsed();
        eprintln!("{prefix}: {calls} calls, {refused} failed, {retried} retryable, {took:?}");
        let keys: i64 = sqlx::query_scalar("SELECT count(*) FROM idempotent_keys")
            .fetch_one(world.store.pool())
            .await
            .unwrap();
        check(&world, prefix, keys).await;
    }
    eventually("no transaction is left", || async {
        stuck(&world).await == 0
    })
    .await;
}

/// As eight processes would: eight stores, each with a gate and a connection of its own.
async fn eight_processes_of_8_tasks_on_one_connection_each(world: PgWorld) {
    for (leased, prefix) in [(false, "storm_"), (true, "storm_leased_")] {
        world.run("DELETE FROM effects").await;
        world.run("DELETE FROM idempotent_keys").await;
        let mut stores = Vec::new();
        for _ in 0..8 {
            stores.push(PgStore::new(Postgres::pool(&world.url, 1).await));
        }
        let began = Instant::now();
        let (calls, refused, retried) = calls(stores, leased).await;
        let took = began.elapsed();
        eprintln!("{prefix}: {calls} calls, {refused} failed, {retried} retryable, {took:?}");
        let keys: i64 = sqlx::query_scalar("SELECT count(*) FROM idempotent_keys")
            .fetch_one(world.store.pool())
            .await
            .unwrap();
        check(&world, prefix, keys).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

idempotent_tests::tests!(
    one_process_of_64_tasks_on_8_connections,
    eight_processes_of_8_tasks_on_one_connection_each,
);
