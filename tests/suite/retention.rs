//! Forgetting: only what is finished and has had its time, and only by `purge`.

use std::time::{Duration, Instant};

use idempotent_runtime::{Job, Outcome, Skip, idempotent};

use super::business::{Failure, Gateway, leave, mark_paid, note, paid};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase, World};

#[idempotent(key = "kept_<id>", retain = 30d)]
async fn kept(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    leave(conn, "kept").await?;
    Ok(id)
}

#[idempotent(key = "guarded_kept_<order_id>", guard = paid, retain = 30d)]
async fn kept_under_a_guard(conn: &mut Conn, order_id: i64) -> Result<i64, Failure> {
    leave(&mut *conn, "kept under a guard").await?;
    mark_paid(conn, order_id).await?;
    Ok(order_id)
}

#[idempotent(key = "leased_kept_<id>", retain = 30d, lease = 30s, wait = 0s)]
async fn kept_leased(job: &mut Job<'_, Db>, gateway: &Gateway, id: i64) -> Result<i64, Failure> {
    gateway.charge(job.key().as_str()).await;
    job.step("one", async |_| Ok::<_, Failure>(id)).await?
}

/// `retain`: a key is kept for its time, and past it until `purge`; then a job with a guard is
/// skipped, and one without runs again.
async fn a_forgotten_job_runs_again_unless_it_has_a_guard(world: World<Db>) {
    kept(&world.store, 1).await.unwrap().into_value();
    kept_under_a_guard(&world.store, 1)
        .await
        .unwrap()
        .value()
        .unwrap();
    note(&world.store, "forever").await.unwrap().into_value();
    assert_eq!(
        world.store.purge().await.unwrap(),
        0,
        "their time has not come"
    );
    for key in ["kept_1", "guarded_kept_1"] {
        world.end_retention(key).await;
    }
    assert!(
        kept(&world.store, 1).await.unwrap().is_replayed(),
        "only purge forgets"
    );
    assert_eq!(world.store.purge().await.unwrap(), 2);
    assert_eq!(world.store.purge().await.unwrap(), 0);
    assert_eq!(
        (world.rows("kept_1").await, world.rows("note_forever").await),
        (0, 1)
    );
    assert_eq!(kept(&world.store, 1).await.unwrap(), Outcome::Performed(1));
    assert_eq!(
        kept_under_a_guard(&world.store, 1).await.unwrap(),
        Outcome::Skipped(Skip::Guard)
    );
    assert_eq!(
        (
            world.effects("kept").await,
            world.effects("kept under a guard").await
        ),
        (2, 1)
    );
}

/// L4: a purge deletes no key that is at work, nor (35) one that was left at work; with a key go its
/// steps.
async fn a_purge_leaves_what_is_not_finished(world: World<Db>) {
    const STEPS: &str = "SELECT count(*) FROM idempotent_steps WHERE name = ?";
    let gateway = Gateway::held();
    let mut running = Box::pin(kept_leased(&world.store, &gateway, 1));
    tokio::select! {
        _ = &mut running => panic!("its charge is held"),
        () = gateway.arrived() => {}
    }
    // A retention that has passed cannot matter before the end of the work.
    world.end_retention("leased_kept_1").await;
    assert_eq!(world.store.purge().await.unwrap(), 0);
    world.end_lease("leased_kept_1").await;
    assert_eq!(
        world.store.purge().await.unwrap(),
        0,
        "left by whoever had it"
    );
    gateway.let_go(1);
    assert!(running.await.unwrap().is_performed());
    assert_eq!(
        (
            world.store.purge().await.unwrap(),
            world.number(STEPS, "one").await
        ),
        (0, 1)
    );
    world.end_retention("leased_kept_1").await;
    assert_eq!(
        (
            world.store.purge().await.unwrap(),
            world.number(STEPS, "one").await
        ),
        (1, 0)
    );
}

/// A failed job's key is not finished, and outlives every purge.
async fn a_purge_leaves_what_failed(world: World<Db>) {
    #[idempotent(key = "failed_kept_<id>", retain = 1s)]
    async fn failed(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
        job.step("charged", async |_| Ok::<_, Failure>(id))
            .await??;
        Err(Failure::Refused("after the step"))
    }
    failed(&world.store, 1).await.unwrap_err();
    world.end_retention("failed_kept_1").await;
    assert_eq!(world.store.purge().await.unwrap(), 0);
    assert_eq!(world.rows("failed_kept_1").await, 1);
}

/// T5: a purge of many keys goes in batches: jobs go on meanwhile (35), and none waits for long.
async fn jobs_go_on_during_a_large_purge(world: World<Db>) {
    world.run(Db::EXPIRED_KEYS).await;
    let purger = world.another(1).await;
    let mut purge = tokio::spawn(async move { purger.purge().await });
    let (mut jobs, mut longest) = (0, Duration::ZERO);
    let purged = loop {
        if purge.is_finished() && jobs >= 20 {
            break (&mut purge).await.unwrap().unwrap();
        }
        let began = Instant::now();
        let outcome = kept(&world.store, jobs).await.unwrap();
        longest = longest.max(began.elapsed());
        assert!(outcome.is_performed());
        jobs += 1;
    };
    assert_eq!(purged, 20_000);
    assert_eq!(world.effects("kept").await, jobs);
    assert!(
        longest < Duration::from_secs(2),
        "a job waited for {longest:?}"
    );
    for id in 0..jobs {
        assert!(kept(&world.store, id).await.unwrap().is_replayed());
    }
}

/// 35: two purges at once, and retries of what they forget, do not get in each other's way.
async fn purges_and_retries_run_at_once(world: World<Db>) {
    for id in 0..20 {
        kept(&world.store, id).await.unwrap().into_value();
        world.end_retention(&format!("kept_{id}")).await;
    }
    let another = world.another(2).await;
    let retries = async {
        let mut performed = 0;
        for id in 0..20 {
            performed += u64::from(kept(&world.store, id).await.unwrap().is_performed());
        }
        performed
    };
    let (one, other, performed) = tokio::join!(world.store.purge(), another.purge(), retries);
    assert_eq!(one.unwrap() + other.unwrap(), 20);
    let effects = u64::try_from(world.effects("kept").await).unwrap();
    assert_eq!(effects, 20 + performed);
}

idempotent_tests::tests!(
    a_forgotten_job_runs_again_unless_it_has_a_guard,
    a_purge_leaves_what_is_not_finished,
    a_purge_leaves_what_failed,
    jobs_go_on_during_a_large_purge,
    purges_and_retries_run_at_once,
);
