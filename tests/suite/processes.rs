//! Several processes on one database: at once, under fire, and of different versions.

use std::time::Duration;

use idempotent_tests::chance::Chance;
use idempotent_tests::worker::{Bank, Worker};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::crashes::WORKER;
use crate::db::Db;
use crate::world::World;

/// As many workers, ready to be called.
async fn workers(world: &World<Db>, bank: &Bank, count: usize) -> Vec<Worker> {
    let mut starting = JoinSet::new();
    for _ in 0..count {
        let (url, bank) = (world.url.clone(), bank.clone());
        starting.spawn(async move { Worker::start(WORKER, &url, &bank).await });
    }
    starting.join_all().await
}

/// All of them make one call at once.
async fn at_once(workers: Vec<Worker>, call: impl Fn(usize) -> String) -> Vec<String> {
    let mut calls = JoinSet::new();
    for (n, mut worker) in workers.into_iter().enumerate() {
        let call = call(n);
        calls.spawn(async move { worker.call(&call).await });
    }
    calls.join_all().await
}

/// C1: 8 processes and one fresh key; 37: one run, and the rest replay or are busy; of both kinds.
async fn one_of_eight_processes_runs(world: World<Db>) {
    for (call, refused) in [("pay 1", false), ("charge 1", true), ("brief 1", false)] {
        let bank = Bank::default();
        let answers = at_once(workers(&world, &bank, 8).await, |_| call.to_owned()).await;
        let count = |start: &str| {
            answers
                .iter()
                .filter(|answer| answer.starts_with(start))
                .count()
        };
        assert_eq!(count("done performed"), 1, "{answers:?}");
        let busy = count("failed Busy true");
        assert_eq!(count("done replayed") + busy, 7, "{answers:?}");
        assert!(refused || busy == 0, "{answers:?}");
        assert_eq!(world.effects(call).await, 1);
        assert!(bank.requests().len() <= 1);
    }
}

/// C4: 8 writers, 1,000 jobs: no "database is locked" reaches a caller.
async fn eight_writers_do_a_thousand_jobs(world: World<Db>) {
    let workers = workers(&world, &Bank::default(), 8).await;
    let answers = at_once(workers, |n| format!("write_125 {}", n * 125)).await;
    for answer in answers {
        assert_eq!(answer, "done performed 125");
    }
    assert_eq!(world.effects("write 0").await, 1000);
}

/// Calls jobs until the end; a worker that is killed is replaced by the next one.
async fn under_fire(world: World<Db>, bank: Bank, mut chance: Chance, end: Instant) -> u32 {
    let mut kills = 0;
    let mut worker = Worker::start(WORKER, &world.url, &bank).await;
    while Instant::now() < end {
        let job = ["pay", "brief"][usize::try_from(chance.below(2)).unwrap_or(0)];
        worker.tell(&format!("{job} {}", chance.below(KEYS))).await;
        if chance.below(3) > 0 {
            worker.try_end().await.expect("nobody killed it");
            continue;
        }
        let moment = Duration::from_micros(u64::from(chance.below(6_000)));
        tokio::select! {
            _ = worker.try_end() => {}
            () = sleep(moment) => {}
        }
        worker.kill().await;
        kills += 1;
        worker = Worker::start(WORKER, &world.url, &bank).await;
    }
    kills
}

const KEYS: u32 = 24;

/// L6: workers under load, killed at any moment: one effect for each key, one charge, no key lost.
async fn kills_under_load_leave_one_effect_a_key(world: World<Db>) {
    let bank = Bank::default();
    let mut seeds = Chance::seeded("kills_under_load_leave_one_effect_a_key");
    let end = Instant::now() + Duration::from_secs(4);
    let mut workers = JoinSet::new();
    for _ in 0..4 {
        let chance = Chance::from(seeds.below(u32::MAX));
        workers.spawn(under_fire(world.clone(), bank.clone(), chance, end));
    }
    let kills: u32 = workers.join_all().await.iter().sum();
    assert!(kills > 3, "{kills} kills");
    let mut last = Worker::start(WORKER, &world.url, &bank).await;
    for job in ["pay", "brief"] {
        for id in 0..KEYS {
            let call = format!("{job} {id}");
            let answer = last.call(&call).await;
            assert!(answer.starts_with("done"), "{call}: {answer}");
            assert_eq!(world.effects(&call).await, 1, "{call}");
        }
    }
    assert_eq!(bank.charges(), usize::try_from(KEYS).unwrap());
    for key in bank.requests() {
        assert!(key.starts_with("brief_"), "{key}");
    }
}

/// K4: a job that moves to another module, and then is renamed with its `name` kept, replays.
async fn a_moved_or_renamed_job_replays(world: World<Db>) {
    let bank = Bank::default();
    for (version, outcome) in [
        ("moved_before", "performed"),
        ("moved_after", "replayed"),
        ("renamed", "replayed"),
    ] {
        let mut worker = Worker::start(WORKER, &world.url, &bank).await;
        let answer = worker.call(&format!("{version} 7")).await;
        assert_eq!(
            answer,
            format!("done {outcome} (\"r_moved_7\", 7)"),
            "{version}"
        );
    }
    assert_eq!(bank.requests(), ["moved_7"]);
}

/// R4: a stored result that a later version cannot read says which key, and what failed; 21: the
/// body does not run; and a field that may be missing replays.
async fn a_result_of_another_version_is_read_or_refused(world: World<Db>) {
    let bank = Bank::default();
    let mut answers = Vec::new();
    for version in ["report_1", "report_2", "report_3", "report_1"] {
        let mut worker = Worker::start(WORKER, &world.url, &bank).await;
        answers.push(worker.call(&format!("{version} 7")).await);
    }
    assert_eq!(answers[0], "done performed Report1 { a: 7 }");
    let refusal = &answers[1];
    assert!(refusal.starts_with("failed Decode false"), "{refusal}");
    assert!(
        refusal.contains("`report_7`") && refusal.contains("missing field `b`"),
        "{refusal}"
    );
    assert_eq!(answers[2], "done replayed Report3 { a: 7, b: 0 }");
    assert_eq!(answers[3], "done replayed Report1 { a: 7 }");
}

idempotent_tests::tests!(
    one_of_eight_processes_runs,
    eight_writers_do_a_thousand_jobs,
    kills_under_load_leave_one_effect_a_key,
    a_moved_or_renamed_job_replays,
    a_result_of_another_version_is_read_or_refused,
);
