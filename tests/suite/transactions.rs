//! Jobs in transactions: the database's refusals, jobs that call jobs, constraints that say "done".

use idempotent_runtime::{Error, Job, Outcome, Store, idempotent};
use sqlx::Connection as _;

use super::business::{Failure, Gateway, leave, note};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase, World, left_open};

#[idempotent(key = "blocked_<id>", wait = 100ms)]
async fn blocked(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    leave(conn, "blocked").await?;
    Ok(id)
}

#[idempotent(key = "blocked_leased_<id>", wait = 100ms)]
async fn blocked_leased(job: &mut Job<'_, Db>, gateway: &Gateway, id: i64) -> Result<i64, Failure> {
    gateway.charge(job.key().as_str()).await;
    leave(job.tx().await?, "blocked").await?;
    Ok(id)
}

/// T1: while somebody else's lock refuses the claim, the error is retryable (14) and nothing is
/// stored as final; the retry runs.
async fn a_refusal_of_the_database_can_be_retried(world: World<Db>) {
    let gateway = Gateway::default();
    let mut holder = Conn::connect(&world.url).await.unwrap();
    sqlx::raw_sql(Db::HOLD_LEDGER)
        .execute(&mut holder)
        .await
        .unwrap();
    let refusals = tokio::join!(
        blocked(&world.store, 1),
        blocked_leased(&world.store, &gateway, 1),
    );
    for refusal in [refusals.0, refusals.1] {
        let refusal = refusal.unwrap_err();
        let error = refusal.runtime();
        assert!(error.is_retryable(), "{error:?}");
        assert!(
            matches!(error, Error::Database { .. } | Error::Busy { .. }),
            "{error:?}"
        );
    }
    sqlx::raw_sql("ROLLBACK")
        .execute(&mut holder)
        .await
        .unwrap();
    holder.close().await.unwrap();
    assert_eq!((world.effects("blocked").await, gateway.requests()), (0, 0));
    assert_eq!(world.rows("blocked_1").await, 0);
    assert!(blocked(&world.store, 1).await.unwrap().is_performed());
    assert!(
        blocked_leased(&world.store, &gateway, 1)
            .await
            .unwrap()
            .is_performed()
    );
    assert_eq!((world.effects("blocked").await, gateway.requests()), (2, 1));
}

#[idempotent(key = "child_<id>", ignore(fail))]
async fn child(conn: &mut Conn, id: i64, fail: bool) -> Result<i64, Failure> {
    leave(conn, "child").await?;
    match fail {
        true => Err(Failure::Refused("the child")),
        false => Ok(id * 10),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Well,
    ChildFails,
    ChildFailsAndIsForgiven,
    ParentFails,
}

#[idempotent(key = "parent_<id>", ignore(end))]
async fn parent(conn: &mut Conn, id: i64, end: End) -> Result<i64, Failure> {
    leave(&mut *conn, "parent").await?;
    let fails = matches!(end, End::ChildFails | End::ChildFailsAndIsForgiven);
    let child = match child(&mut *conn, id, fails).await {
        Err(Failure::Refused(_)) if end == End::ChildFailsAndIsForgiven => -1,
        child => child?.into_value(),
    };
    match end {
        End::ParentFails => Err(Failure::Refused("the parent")),
        _ => Ok(child + 1),
    }
}

async fn left(world: &World<Db>) -> [i64; 4] {
    [
        world.effects("parent").await,
        world.rows("parent_1").await,
        world.effects("child").await,
        world.rows("child_1").await,
    ]
}

/// T2: a job calls another with `&mut *conn`, through a pool of one: both commit together, or (11)
/// neither; nothing hangs.
async fn jobs_compose_in_one_transaction(world: World<Db>) {
    let store: Store<Db> = world.another(1).await;
    for end in [End::ChildFails, End::ParentFails] {
        let error = parent(&store, 1, end).await.unwrap_err();
        assert!(matches!(error, Failure::Refused(_)), "{error:?}");
        assert_eq!(left(&world).await, [0; 4], "{end:?}");
        assert!(!left_open(store.pool()).await);
    }
    assert_eq!(
        parent(&store, 1, End::Well).await.unwrap(),
        Outcome::Performed(11)
    );
    assert_eq!(left(&world).await, [1; 4]);
    assert_eq!(
        parent(&store, 1, End::Well).await.unwrap(),
        Outcome::Replayed(11)
    );
    assert_eq!(
        child(&store, 1, false).await.unwrap(),
        Outcome::Replayed(10)
    );
    assert_eq!(left(&world).await, [1; 4]);
}

/// T2: a child that fails and is forgiven is undone alone.
async fn a_forgiven_child_is_undone_alone(world: World<Db>) {
    let end = End::ChildFailsAndIsForgiven;
    assert_eq!(
        parent(&world.store, 1, end).await.unwrap(),
        Outcome::Performed(0)
    );
    assert_eq!(left(&world).await, [1, 1, 0, 0]);
    assert_eq!(
        child(&world.store, 1, false).await.unwrap(),
        Outcome::Performed(10)
    );
}

/// T2: a child that was done before replays within its parent.
async fn a_child_that_is_done_replays_in_its_parent(world: World<Db>) {
    child(&world.store, 1, false).await.unwrap().into_value();
    assert_eq!(
        parent(&world.store, 1, End::Well).await.unwrap(),
        Outcome::Performed(11)
    );
    assert_eq!(left(&world).await, [1; 4]);
}

#[idempotent(key = "leased_parent_<id>")]
async fn leased_parent(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
    let before = child(job.store(), id, false).await?.into_value();
    note(job.store(), "before").await?.into_value();
    let tx = job.tx().await?;
    note(&mut *tx, "with").await?.into_value();
    leave(tx, "leased_parent").await?;
    Ok(before + 1)
}

/// A leased job calls transactional ones: before its transaction, and in it; through a pool of one.
async fn a_leased_job_calls_others_before_and_in_its_transaction(world: World<Db>) {
    let store = world.another(1).await;
    assert_eq!(
        leased_parent(&store, 1).await.unwrap(),
        Outcome::Performed(11)
    );
    for key in ["leased_parent_1", "child_1", "note_before", "note_with"] {
        assert_eq!(world.rows(key).await, 1, "{key}");
    }
    assert_eq!(
        leased_parent(&store, 1).await.unwrap(),
        Outcome::Replayed(11)
    );
    assert_eq!(
        (world.effects("child").await, world.effects("with").await),
        (1, 1)
    );
}

idempotent_tests::tests!(
    a_refusal_of_the_database_can_be_retried,
    jobs_compose_in_one_transaction,
    a_forgiven_child_is_undone_alone,
    a_child_that_is_done_replays_in_its_parent,
    a_leased_job_calls_others_before_and_in_its_transaction,
);
