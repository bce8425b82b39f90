//! Storms over several processes' worth of stores: the gate of one process does not help here.

use std::time::{Duration, Instant};

use idempotent_runtime::{Store, idempotent};
use idempotent_tests::chance::Chance;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::words::{Failure, assert_clean, leave};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "gale_<id>", ignore(fail), wait = 30s)]
async fn gale(conn: &mut Conn, id: i64, fail: bool) -> Result<i64, Failure> {
    leave(conn, &format!("gale {id}")).await?;
    tokio::task::yield_now().await;
    if fail { Err(Failure::Refused) } else { Ok(id) }
}

async fn weather(
    store: Store<Db>,
    mut chance: Chance,
    keys: u32,
    calls: u32,
    fails: u32,
) -> (u32, u32) {
    let (mut retried, mut failed) = (0, 0);
    for _ in 0..calls {
        let id = i64::from(chance.below(keys));
        loop {
            match gale(&store, id, chance.below(100) < fails).await {
                Ok(outcome) => break assert_eq!(outcome.into_value(), id),
                Err(Failure::Refused) => failed += 1,
                Err(Failure::Idempotent(error)) if error.is_retryable() => {
                    eprintln!("retryable: {error:?}");
                    retried += 1;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    (retried, failed)
}

async fn storm(
    world: &World<Db>,
    stores: u32,
    tasks_each: u32,
    pool: u32,
    keys: u32,
    calls: u32,
    fails: u32,
) {
    let mut seeds = Chance::seeded("gale");
    let mut tasks = JoinSet::new();
    let mut all = Vec::new();
    for _ in 0..stores {
        let store = world.another(pool).await;
        all.push(store.clone());
        for _ in 0..tasks_each {
            let chance = Chance::from(seeds.below(u32::MAX));
            tasks.spawn(weather(store.clone(), chance, keys, calls, fails));
        }
    }
    let began = Instant::now();
    let (mut retried, mut failed) = (0, 0);
    for (more_retried, more_failed) in timeout(Duration::from_secs(200), tasks.join_all())
        .await
        .expect("no deadlock")
    {
        retried += more_retried;
        failed += more_failed;
    }
    let deadlocks = world
        .number("SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name = ?", "INNODB_DEADLOCKS")
        .await;
    eprintln!(
        "{stores} stores x {tasks_each} tasks, pool {pool}, {keys} keys, {} calls, {failed} failed bodies, \
         {retried} retryable errors, {:?}; deadlocks of the server so far {deadlocks}",
        stores * tasks_each * calls,
        began.elapsed()
    );
    for id in 0..keys {
        let (effects, rows) = (
            world.effects(&format!("gale {id}")).await,
            world
                .number(
                    "SELECT count(*) FROM idempotent_keys WHERE `key` = ? AND status = 1",
                    &format!("gale_{id}"),
                )
                .await,
        );
        assert_eq!(effects, rows, "key {id}");
        assert!(effects <= 1, "key {id} has {effects} effects");
    }
    for store in &all {
        assert_clean(store).await;
    }
}

/// 64 tasks, a pool of eight, 500 keys, a third of the bodies failing.
async fn the_storm_of_one_process(world: World<Db>) {
    storm(&world, 1, 64, 8, 500, 30, 33).await;
}

/// The same over eight stores, with the keys of the ones in the others' way.
async fn the_storm_of_eight_processes(world: World<Db>) {
    storm(&world, 8, 8, 8, 500, 30, 33).await;
}

/// Twelve claimants, few keys, half of the bodies failing: what deadlocked most.
async fn the_storm_over_few_keys(world: World<Db>) {
    storm(&world, 12, 1, 2, 25, 200, 95).await;
}

idempotent_tests::tests!(
    the_storm_of_one_process,
    the_storm_of_eight_processes,
    the_storm_over_few_keys,
);
