//! Sessions with settings of their own, and connections that end.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Error, Job, PgStore, Postgres, idempotent};
use idempotent_tests::world::TestDatabase;
use sqlx::PgConnection;

use crate::work::{Failure, PgWorld, another, leave, plain, store_with};

#[idempotent(key = "leased_<n>", lease = 30s, wait = 20s)]
async fn leased(job: &mut Job<'_, Postgres>, n: i64) -> Result<i64, Failure> {
    tokio::time::sleep(Duration::from_millis(3)).await;
    leave(job.tx().await?, "leased").await?;
    Ok(n)
}

/// Isolation is READ COMMITTED in our transactions; statements on their own have the session's.
async fn a_stricter_default_isolation_changes_nothing(world: PgWorld) {
    for level in ["repeatable read", "serializable"] {
        let mut stores = Vec::new();
        for _ in 0..8 {
            let settings = [("default_transaction_isolation", level)];
            stores.push(store_with(&world, 2, &settings).await);
        }
        for n in 0..40 {
            let mut calls = Vec::new();
            for store in &stores {
                let store = store.clone();
                calls.push(tokio::spawn(async move {
                    plain(&store, n).await.map(drop)?;
                    leased(&store, n).await.map(drop)
                }));
            }
            for call in calls {
                call.await
                    .unwrap()
                    .unwrap_or_else(|error| panic!("{level}, {n}: {error:?}"));
            }
        }
        world.run("DELETE FROM idempotent_keys").await;
    }
    assert_eq!(world.effects("leased").await, 80);
}

#[idempotent(key = "sleeper_<n>", ignore(nap))]
async fn sleeper(conn: &mut PgConnection, n: i64, nap: Duration) -> Result<i64, Failure> {
    leave(&mut *conn, "sleeper").await?;
    tokio::time::sleep(nap).await;
    leave(conn, "slept").await?;
    Ok(n)
}

/// A process that stands still holds its key until the server ends its transaction.
async fn a_worker_that_stands_still_loses_its_key_to_a_waiter(world: PgWorld) {
    let settings = [("idle_in_transaction_session_timeout", "400ms")];
    let store = store_with(&world, 1, &settings).await;
    let stopped = tokio::spawn(async move {
        let error = sleeper(&store, 1, Duration::from_millis(1500))
            .await
            .unwrap_err();
        // The body's own statement is the first to hear of it.
        assert!(matches!(error, Failure::Database(_)), "{error:?}");
        // The pool has a new connection for the next call.
        sleeper(&store, 1, Duration::ZERO).await.unwrap()
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let waiter = another(&world).await;
    assert!(
        sleeper(&waiter, 1, Duration::ZERO)
            .await
            .unwrap()
            .is_performed()
    );
    assert!(stopped.await.unwrap().is_replayed());
    assert_eq!(
        (world.effects("sleeper").await, world.effects("slept").await),
        (1, 1)
    );
}

/// Connections that the server ends: before the claim, in the body, before the completion.
async fn a_connection_that_is_cut_is_retryable(world: PgWorld) {
    let store = Arc::new(PgStore::new(Postgres::pool(&world.url, 2).await));
    let killer = tokio::spawn({
        let world = world.clone();
        async move {
            loop {
                tokio::time::sleep(Duration::from_millis(7)).await;
                let _ = sqlx::query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND pid <> pg_backend_pid() \
                     AND backend_type = 'client backend' ORDER BY random() LIMIT 1",
                )
                .execute(world.store.pool())
                .await;
            }
        }
    });
    let mut retries = 0;
    for n in 0..150 {
        for job in 0..2 {
            loop {
                let result = match job {
                    0 => plain(&*store, n).await.map(drop),
                    _ => leased(&*store, n).await.map(drop),
                };
                match result {
                    Ok(()) => break,
                    Err(Failure::Idempotent(error)) => {
                        assert!(error.is_retryable(), "{n}: {error:?}");
                        retries += 1;
                    }
                    Err(Failure::Database(_)) => retries += 1,
                    Err(Failure::Refused) => unreachable!(),
                }
                assert!(retries < 5000, "no progress");
            }
        }
    }
    killer.abort();
    let _ = killer.await;
    eprintln!("{retries} retries");
    assert!(retries > 0);
    let again = another(&world).await;
    let doubles: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM (SELECT name FROM effects WHERE name <> 'leased' GROUP BY name \
         HAVING count(*) > 1) AS doubles",
    )
    .fetch_one(again.pool())
    .await
    .unwrap();
    assert_eq!(doubles, 0);
    let leased: i64 = sqlx::query_scalar("SELECT count(*) FROM effects WHERE name = 'leased'")
        .fetch_one(again.pool())
        .await
        .unwrap();
    assert_eq!(leased, 150);
}

/// Passing and lasting: what a queue should try again.
async fn a_statement_that_takes_too_long_is_retryable(world: PgWorld) {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let first = tokio::spawn({
        let (store, gate) = (world.store.clone(), Arc::clone(&gate));
        async move { crate::work::held(&store, &gate, 1, false).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let store = store_with(&world, 1, &[("statement_timeout", "200ms")]).await;
    let error = crate::work::held(&store, &gate, 1, false)
        .await
        .unwrap_err();
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
    gate.add_permits(1);
    first.await.unwrap().unwrap();
}

/// 10: the session's zone is nothing to the ledger: its times are instants.
async fn a_session_of_another_zone_changes_nothing(world: PgWorld) {
    for (n, zone) in (1..).zip(["Asia/Tokyo", "-12", "America/New_York"]) {
        let store = store_with(&world, 2, &[("timezone", zone)]).await;
        assert!(plain(&store, n).await.unwrap().is_performed(), "{zone}");
        assert!(
            plain(&world.store, n).await.unwrap().is_replayed(),
            "{zone}"
        );
        assert!(leased(&store, n).await.unwrap().is_performed(), "{zone}");
        assert!(
            leased(&world.store, n).await.unwrap().is_replayed(),
            "{zone}"
        );
        let off = world
            .number(
                "SELECT max(abs(extract(epoch FROM clock_timestamp() - first_at)))::bigint \
                 FROM idempotent_keys WHERE key <> ?",
                "",
            )
            .await;
        assert!(off < 20, "{zone}: {off} s off");
        assert_eq!(store.purge().await.unwrap(), 0);
    }
}

idempotent_tests::tests!(
    a_session_of_another_zone_changes_nothing,
    a_stricter_default_isolation_changes_nothing,
    a_worker_that_stands_still_loses_its_key_to_a_waiter,
    a_connection_that_is_cut_is_retryable,
    a_statement_that_takes_too_long_is_retryable,
);
