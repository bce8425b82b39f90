//! Workers in other processes, killed or stopped at a point: one effect, whatever the point.

use std::time::Duration;

use idempotent_tests::worker::{Bank, Worker};
use tokio::time::{Instant, timeout};

use crate::db::Db;
use crate::world::{TestDatabase, World};

/// The program that runs the other side.
pub const WORKER: &str = env!("CARGO_BIN_EXE_worker");

async fn worker(world: &World<Db>, bank: &Bank) -> Worker {
    Worker::start(WORKER, &world.url, bank).await
}

/// L6: kill -9 of a transactional job at every point: 1: before the claim, 2: and after it, all is
/// undone and the retry runs at once; 5: after the commit, the retry replays.
async fn a_kill_of_a_transactional_job_leaves_one_effect(world: World<Db>) {
    let bank = Bank::default();
    for (id, (point, outcome)) in [
        ("at called", "performed"),
        ("at claimed", "performed"),
        ("at written", "performed"),
        ("at answered", "replayed"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut killed = worker(&world, &bank).await;
        killed.call_up_to(&format!("pay {id}"), point).await;
        killed.kill().await;
        let before = i64::from(outcome == "replayed");
        assert_eq!(world.effects(&format!("pay {id}")).await, before, "{point}");
        assert_eq!(world.rows(&format!("pay_{id}")).await, before, "{point}");
        let mut next = worker(&world, &bank).await;
        let answer = next.call(&format!("pay {id}")).await;
        assert_eq!(answer, format!("done {outcome} {id}"), "{point}");
        assert_eq!(world.effects(&format!("pay {id}")).await, 1, "{point}");
    }
}

/// L6: the same for a leased job: 1: before the claim the retry runs at once; 3: after it the key is
/// busy until the lease ends, and then taken over; 4: with the same key outside, and one charge.
async fn a_kill_of_a_leased_job_leaves_one_effect(world: World<Db>) {
    let bank = Bank::default();
    for (id, (point, outcome, requests)) in [
        ("at called", "performed", 1),
        ("at claimed", "performed", 1),
        ("charge", "performed", 2),
        ("at charged", "performed", 2),
        ("at written", "performed", 2),
        ("at answered", "replayed", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let before = bank.requests().len();
        let (call, key) = (format!("charge {id}"), format!("charge_{id}"));
        let mut killed = worker(&world, &bank).await;
        killed.call_up_to(&call, point).await;
        killed.kill().await;
        let mut next = worker(&world, &bank).await;
        if !matches!(point, "at called" | "at answered") {
            let answer = next.call(&call).await;
            assert!(answer.starts_with("failed Busy true"), "{point}: {answer}");
            world.end_lease(&key).await;
        }
        let answer = next.call(&call).await;
        assert_eq!(answer, format!("done {outcome} \"r_{key}\""), "{point}");
        assert_eq!(world.effects(&call).await, 1, "{point}");
        assert_eq!(bank.requests().len() - before, requests, "{point}");
        assert_eq!(bank.charges(), id + 1, "{point}");
    }
}

/// L1: the lease of a worker that was killed ends by itself, and whoever waits takes over.
async fn a_killed_workers_lease_ends_by_itself(world: World<Db>) {
    let bank = Bank::default();
    let (mut killed, mut next) = (worker(&world, &bank).await, worker(&world, &bank).await);
    killed.call_up_to("brief 1", "at charged").await;
    killed.kill().await;
    let began = Instant::now();
    assert_eq!(next.call("brief 1").await, "done performed \"r_brief_1\"");
    // The lease is of a second, renewed at most a moment before the kill.
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        (world.effects("brief 1").await, world.fence("brief_1").await),
        (1, 2)
    );
    assert_eq!((bank.requests().len(), bank.charges()), (2, 1));
}

/// 2: who waits for a transactional job gets its key as soon as its worker is dead.
async fn a_waiter_claims_when_the_holder_dies(world: World<Db>) {
    let bank = Bank::default();
    let (mut killed, mut waiter) = (worker(&world, &bank).await, worker(&world, &bank).await);
    killed.call_up_to("pay 1", "at written").await;
    waiter.call_up_to("pay 1", "at called").await;
    waiter.tell("go").await;
    // It waits: nothing is heard of it while the other one holds the key.
    let silence = timeout(Duration::from_millis(300), waiter.try_line()).await;
    assert!(silence.is_err(), "{silence:?}");
    killed.kill().await;
    assert_eq!(waiter.end().await, "done performed 1");
    assert_eq!(world.effects("pay 1").await, 1);
}

/// L2: a worker that is stopped past its lease, 7: and wakes after a takeover, completes nothing.
async fn a_stopped_workers_completion_is_refused(world: World<Db>) {
    let bank = Bank::default();
    let (mut sleeper, mut next) = (worker(&world, &bank).await, worker(&world, &bank).await);
    sleeper.call_up_to("brief 1", "at charged").await;
    sleeper.stop();
    assert_eq!(next.call("brief 1").await, "done performed \"r_brief_1\"");
    // Nobody tells it to go on with its body: the heartbeat stops that.
    sleeper.wake();
    let answer = sleeper.end().await;
    assert!(answer.starts_with("failed LeaseLost true"), "{answer}");
    assert_eq!(sleeper.call("brief 1").await, "done replayed \"r_brief_1\"");
    assert_eq!((world.effects("brief 1").await, bank.charges()), (1, 1));
}

/// 6: a worker that is stopped in a transactional body: others go on or hear a retryable error, and
/// there is one effect when it wakes.
async fn a_worker_stopped_in_a_transaction_does_no_harm(world: World<Db>) {
    world.run(Db::IDLE_LIMIT).await;
    let bank = Bank::default();
    let (mut sleeper, mut next) = (worker(&world, &bank).await, worker(&world, &bank).await);
    sleeper.call_up_to("pay 1", "at written").await;
    sleeper.stop();
    let meanwhile = next.call("pay 1").await;
    sleeper.wake();
    sleeper.tell("go").await;
    let woken = sleeper.end().await;
    match meanwhile.strip_prefix("failed ") {
        // Nobody could take the key away: the sleeper has done the work.
        Some(error) => {
            let retryable = error.starts_with("Database true") || error.starts_with("Busy true");
            assert!(retryable, "{meanwhile}");
            assert_eq!(woken, "done performed 1");
        }
        None => {
            assert_eq!(meanwhile, "done performed 1");
            assert!(woken.starts_with("failed"), "{woken}");
        }
    }
    assert_eq!(next.call("pay 1").await, "done replayed 1");
    assert_eq!(world.effects("pay 1").await, 1);
}

idempotent_tests::tests!(
    a_kill_of_a_transactional_job_leaves_one_effect,
    a_kill_of_a_leased_job_leaves_one_effect,
    a_killed_workers_lease_ends_by_itself,
    a_waiter_claims_when_the_holder_dies,
    a_stopped_workers_completion_is_refused,
    a_worker_stopped_in_a_transaction_does_no_harm,
);
