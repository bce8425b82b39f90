//! Calls that are dropped at any await: timeouts, `select!`, clients that hang up.

use std::pin::pin;
use std::time::Duration;

use idempotent_runtime::{Job, PgStore, Postgres, idempotent};
use idempotent_tests::chance::{Chance, Cuts};
use idempotent_tests::world::{TestDatabase, eventually};
use sqlx::PgConnection;

use crate::work::{Failure, PgWorld, leave, stuck};

#[idempotent(key = "cut_<n>", unique = "accounts_email")]
async fn cut_work(conn: &mut PgConnection, n: u32) -> Result<u32, Failure> {
    leave(&mut *conn, &format!("cut_{n}")).await?;
    sqlx::query("SELECT 1").execute(conn).await?;
    Ok(n)
}

#[idempotent(key = "cut_leased_<n>", lease = 30s)]
async fn cut_leased(job: &mut Job<'_, Postgres>, n: u32) -> Result<u32, Failure> {
    sqlx::query("SELECT 1").execute(job.pool()).await?;
    leave(job.tx().await?, &format!("cut_leased_{n}")).await?;
    Ok(n)
}

/// Writes without a transaction, and sees from another connection that it is there.
async fn is_clean(world: &PgWorld, store: &PgStore, name: &str) {
    sqlx::query("INSERT INTO effects (name) VALUES ($1)")
        .bind(name)
        .execute(store.pool())
        .await
        .expect("a connection that works");
    assert_eq!(
        world.effects(name).await,
        1,
        "{name}: written into a transaction that was left open"
    );
}

const ROUNDS: u32 = 1000;

async fn the_pool_stays_clean_whatever_is_dropped(world: PgWorld) {
    let store = PgStore::new(Postgres::pool(&world.url, 1).await);
    let mut cuts = Cuts::drawn_from(Chance::seeded("transactional"));
    for n in 0..ROUNDS {
        if let Some(done) = cuts.cut(cut_work(&store, n)).await {
            done.unwrap();
        }
        is_clean(&world, &store, &format!("probe_{n}")).await;
    }
    for n in 0..ROUNDS {
        cut_work(&store, n).await.unwrap();
        assert_eq!(world.effects(&format!("cut_{n}")).await, 1);
    }
    assert!(cuts.whole > 50 && cuts.cut > 50, "{cuts:?}");
    eventually("no transaction is left", || async {
        stuck(&world).await == 0
    })
    .await;
}

async fn leased_jobs_leave_the_pool_clean_and_the_key_free(world: PgWorld) {
    let store = PgStore::new(Postgres::pool(&world.url, 2).await);
    let mut cuts = Cuts::drawn_from(Chance::seeded("leased"));
    let rounds = ROUNDS / 4;
    for n in 0..rounds {
        if let Some(done) = cuts.cut(cut_leased(&store, n)).await {
            done.unwrap();
        }
        is_clean(&world, &store, &format!("probe_{n}")).await;
    }
    for n in 0..rounds {
        // A release may be under way yet; it comes well before the lease ends.
        cut_leased(&store, n).await.unwrap();
        assert_eq!(world.effects(&format!("cut_leased_{n}")).await, 1);
    }
    eventually("no transaction is left", || async {
        stuck(&world).await == 0
    })
    .await;
}

async fn a_begin_that_is_dropped_leaves_nothing_open(world: PgWorld) {
    let store = PgStore::new(Postgres::pool(&world.url, 1).await);
    let mut cuts = Cuts::drawn_from(Chance::seeded("begin"));
    for n in 0..300 {
        if let Some(tx) = cuts.cut(store.begin()).await {
            drop(tx.unwrap());
        }
        is_clean(&world, &store, &format!("probe_{n}")).await;
    }
    assert!(cuts.whole > 20 && cuts.cut > 20, "{cuts:?}");
}

/// A joined job that is cut takes its own writes with it, and not the caller's.
async fn a_joined_job_that_is_dropped_spares_the_outer_transaction(world: PgWorld) {
    let store = PgStore::new(Postgres::pool(&world.url, 1).await);
    let mut cuts = Cuts::drawn_from(Chance::seeded("joined"));
    let mut failed = 0;
    for n in 0..400 {
        let mut tx = store.begin().await.unwrap();
        leave(&mut tx, &format!("first_{n}")).await.unwrap();
        let done = cuts.cut(cut_work(&mut tx, n)).await.is_some();
        let went_on = leave(&mut tx, &format!("second_{n}")).await;
        let committed = match went_on {
            Ok(()) => tx.commit().await.is_ok(),
            Err(_) => {
                drop(tx);
                false
            }
        };
        failed += u32::from(!committed);
        let (first, second, work, rows) = (
            world.effects(&format!("first_{n}")).await,
            world.effects(&format!("second_{n}")).await,
            world.effects(&format!("cut_{n}")).await,
            world.rows(&format!("cut_{n}")).await,
        );
        let all = i64::from(committed);
        assert_eq!((first, second), (all, all), "round {n}");
        assert_eq!(work, rows, "round {n}: the job and its key part");
        assert!(!done || !committed || work == 1, "round {n}");
    }
    assert!(cuts.whole > 20 && cuts.cut > 20, "{cuts:?}");
    assert!(failed < cuts.cut / 4, "{failed} could not go on: {cuts:?}");
}

/// The claim waits in the server when its call is dropped.
async fn a_claim_that_waits_and_is_dropped_leaves_nothing(world: PgWorld) {
    let gate = tokio::sync::Semaphore::new(0);
    let store = PgStore::new(Postgres::pool(&world.url, 2).await);
    let other = PgStore::new(Postgres::pool(&world.url, 2).await);
    let first = crate::work::held(&store, &gate, 1, false);
    let mut first = pin!(first);
    assert!(
        tokio::time::timeout(Duration::from_millis(300), first.as_mut())
            .await
            .is_err(),
        "the gate is closed"
    );
    for _ in 0..3 {
        let second = crate::work::held(&other, &gate, 1, false);
        let late = tokio::time::timeout(Duration::from_millis(100), second).await;
        assert!(late.is_err());
    }
    gate.add_permits(1);
    assert!(first.await.unwrap().is_performed());
    is_clean(&world, &other, "probe").await;
    assert!(
        crate::work::held(&other, &gate, 1, false)
            .await
            .unwrap()
            .is_replayed()
    );
    eventually("no transaction is left", || async {
        stuck(&world).await == 0
    })
    .await;
}

idempotent_tests::tests!(
    the_pool_stays_clean_whatever_is_dropped,
    leased_jobs_leave_the_pool_clean_and_the_key_free,
    a_begin_that_is_dropped_leaves_nothing_open,
    a_joined_job_that_is_dropped_spares_the_outer_transaction,
    a_claim_that_waits_and_is_dropped_leaves_nothing,
);
