//! Many at once: one run, no deadlock, no starved pool.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Error, Job, Never, Outcome, Store, idempotent};
use idempotent_tests::chance::Chance;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::business::{Failure, Gateway, leave, note};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "counted_<id>", lease = 30s, wait = 20s)]
async fn counted(job: &mut Job<'_, Db>, gateway: &Gateway, id: i64) -> Result<i64, Failure> {
    gateway.charge(job.key().as_str()).await;
    tokio::task::yield_now().await;
    leave(job.tx().await?, "counted").await?;
    Ok(id)
}

/// The same, for a task of its own.
async fn count(
    store: Store<Db>,
    gateway: Arc<Gateway>,
    id: usize,
) -> Result<Outcome<i64, Never>, Failure> {
    counted(&store, &gateway, i64::try_from(id).expect("few")).await
}

/// Calls from tasks of their own, all at one barrier; counts who performed and who replayed.
async fn at_once<T, F>(count: usize, call: impl Fn(usize) -> F) -> (usize, usize)
where
    F: Future<Output = Result<Outcome<T, Never>, Failure>> + Send + 'static,
    T: Send + 'static,
{
    let barrier = Arc::new(Barrier::new(count));
    let mut tasks = JoinSet::new();
    for n in 0..count {
        let (barrier, call) = (Arc::clone(&barrier), call(n));
        tasks.spawn(async move {
            barrier.wait().await;
            call.await.unwrap().is_performed()
        });
    }
    let all = timeout(Duration::from_secs(60), tasks.join_all());
    let all = all.await.expect("no deadlock");
    let performed = all.iter().filter(|performed| **performed).count();
    (performed, all.len() - performed)
}

/// C1: 50 tasks, one barrier, one fresh key: one run.
async fn one_of_fifty_runs(world: World<Db>) {
    let store = world.store.clone();
    let counts = at_once(50, |_| {
        let store = store.clone();
        async move { note(&store, "fifty").await }
    });
    assert_eq!(counts.await, (1, 49));
    assert_eq!(world.effects("fifty").await, 1);
}

/// 37: 64 callers of one fresh key of a leased job: one run, one request, the rest replay.
async fn one_of_sixty_four_reaches_the_gateway(world: World<Db>) {
    let gateway = Arc::new(Gateway::default());
    let store = world.store.clone();
    let counts = at_once(64, |_| count(store.clone(), Arc::clone(&gateway), 1));
    assert_eq!(counts.await, (1, 63));
    assert_eq!((gateway.requests(), world.effects("counted").await), (1, 1));
}

/// 37: the same through a pool of two, which the duplicates do not hold while they wait.
async fn duplicates_do_not_starve_a_small_pool(world: World<Db>) {
    let gateway = Arc::new(Gateway::held());
    let store = world.another(2).await;
    let counts = at_once(64, |_| count(store.clone(), Arc::clone(&gateway), 1));
    let (counts, ()) = tokio::join!(counts, async {
        gateway.arrived().await;
        // 63 wait, and the pool has a connection for everybody else.
        for name in ["a", "b", "c"] {
            assert!(note(&store, name).await.unwrap().is_performed());
        }
        gateway.let_go(1);
    });
    assert_eq!(counts, (1, 63));
    assert_eq!((gateway.requests(), world.effects("counted").await), (1, 1));
}

/// C2: two at once in a leased job: the gateway sees one call.
async fn two_at_once_are_one_request(world: World<Db>) {
    let gateway = Gateway::held();
    let another = world.another(2).await;
    let first = counted(&world.store, &gateway, 1);
    let second = async {
        gateway.arrived().await;
        let second = counted(&another, &gateway, 1);
        let (second, ()) = tokio::join!(second, async { gateway.let_go(1) });
        second
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap(), Outcome::Performed(1));
    assert_eq!(second.unwrap(), Outcome::Replayed(1));
    assert_eq!((gateway.requests(), world.effects("counted").await), (1, 1));
}

/// C3: many distinct keys at once, of both kinds, through a pool of two.
async fn many_keys_pass_a_small_pool(world: World<Db>) {
    let gateway = Arc::new(Gateway::default());
    let store = world.another(2).await;
    let transactional = at_once(60, |n| {
        let store = store.clone();
        async move { note(&store, &format!("many {n}")).await }
    });
    let leased = at_once(60, |n| count(store.clone(), Arc::clone(&gateway), n));
    let (transactional, leased) = tokio::join!(transactional, leased);
    assert_eq!((transactional, leased), ((60, 0), (60, 0)));
    assert_eq!(
        (gateway.requests(), world.effects("counted").await),
        (60, 60)
    );
}

/// 15: a duplicate waits for `wait`, and is then busy; the next one with more patience replays.
async fn a_duplicate_waits_no_longer_than_it_says(world: World<Db>) {
    #[idempotent(key = "brief_<id>", lease = 30s, wait = 200ms)]
    async fn brief(job: &mut Job<'_, Db>, gateway: &Gateway, id: i64) -> Result<i64, Failure> {
        gateway.charge(job.key().as_str()).await;
        Ok(id)
    }
    let gateway = Gateway::held();
    let another = world.another(2).await;
    let (first, ()) = tokio::join!(brief(&world.store, &gateway, 1), async {
        gateway.arrived().await;
        for store in [&world.store, &another] {
            let began = std::time::Instant::now();
            let busy = brief(store, &gateway, 1).await.unwrap_err();
            let waited = began.elapsed();
            assert!(matches!(busy.runtime(), Error::Busy { .. }), "{busy:?}");
            assert!(waited >= Duration::from_millis(199), "{waited:?}");
            assert!(waited < Duration::from_secs(5), "{waited:?}");
        }
        gateway.let_go(1);
    });
    assert!(first.unwrap().is_performed());
    assert!(brief(&another, &gateway, 1).await.unwrap().is_replayed());
}

#[idempotent(key = "storm_<id>", ignore(fail), wait = 30s)]
async fn storm(conn: &mut Conn, id: i64, fail: bool) -> Result<i64, Failure> {
    leave(conn, &format!("storm {id}")).await?;
    match fail {
        true => Err(Failure::Refused("one in three")),
        false => Ok(id),
    }
}

async fn weather(store: Store<Db>, mut chance: Chance, keys: u32) -> u32 {
    let mut refused = 0;
    for _ in 0..20 {
        let id = i64::from(chance.below(keys));
        loop {
            match storm(&store, id, chance.below(3) == 0).await {
                Ok(outcome) => break assert_eq!(outcome.into_value(), id),
                Err(Failure::Refused(_)) => {}
                Err(Failure::Idempotent(error)) if error.is_retryable() => refused += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    refused
}

/// C3: a storm: 64 tasks, a pool of eight, a third of the bodies failing.
async fn a_storm_leaves_one_effect_a_key(world: World<Db>) {
    const KEYS: u32 = 400;
    let mut seeds = Chance::seeded("a_storm_leaves_one_effect_a_key");
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let chance = Chance::from(seeds.below(u32::MAX));
        tasks.spawn(weather(world.store.clone(), chance, KEYS));
    }
    let refused: u32 = timeout(Duration::from_secs(60), tasks.join_all())
        .await
        .expect("no deadlock")
        .iter()
        .sum();
    let mut done = 0;
    for id in 0..KEYS {
        let (effects, rows) = (
            world.effects(&format!("storm {id}")).await,
            world.rows(&format!("storm_{id}")).await,
        );
        assert_eq!(effects, rows, "key {id}");
        assert!(effects <= 1, "key {id} has {effects} effects");
        done += effects;
    }
    assert!(done > 300, "{done} keys done");
    assert_eq!(refused, 0, "nobody had to be turned away");
}

idempotent_tests::tests!(
    one_of_fifty_runs,
    one_of_sixty_four_reaches_the_gateway,
    duplicates_do_not_starve_a_small_pool,
    two_at_once_are_one_request,
    many_keys_pass_a_small_pool,
    a_duplicate_waits_no_longer_than_it_says,
    a_storm_leaves_one_effect_a_key,
);
