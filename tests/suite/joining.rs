//! Joining: a transactional job in a transaction of the caller's commits when that does.

use idempotent_runtime::{Error, Outcome, Skip, idempotent};
use idempotent_tests::chance::cut_after;
use sqlx::Connection as _;

use super::business::{Failure, Receipt, leave, note, panic_of, pay};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase, World, left_open};

/// What is left of `note("n")`, and of the caller's own write.
async fn left(world: &World<Db>) -> [i64; 3] {
    [
        world.effects("n").await,
        world.rows("note_n").await,
        world.effects("callers").await,
    ]
}

/// A job commits with the transaction that it joined, and is seen by nobody before.
async fn a_job_commits_with_the_callers_transaction(world: World<Db>) {
    let mut tx = world.store.begin().await.unwrap();
    leave(&mut tx, "callers").await.unwrap();
    assert!(note(&mut tx, "n").await.unwrap().is_performed());
    assert!(
        note(&mut tx, "n").await.unwrap().is_replayed(),
        "within it, it is done"
    );
    assert_eq!(left(&world).await, [0; 3]);
    tx.commit().await.unwrap();
    assert_eq!(left(&world).await, [1; 3]);
    assert!(note(&world.store, "n").await.unwrap().is_replayed());
}

/// It is undone with the transaction that it joined, dropped or rolled back.
async fn a_job_is_undone_with_the_callers_transaction(world: World<Db>) {
    for dropped in [true, false] {
        let mut tx = world.store.begin().await.unwrap();
        leave(&mut tx, "callers").await.unwrap();
        note(&mut tx, "n").await.unwrap().into_value();
        match dropped {
            true => drop(tx),
            false => tx.rollback().await.unwrap(),
        }
        assert_eq!(left(&world).await, [0; 3]);
    }
    assert!(note(&world.store, "n").await.unwrap().is_performed());
}

/// A bare connection in no transaction: the job gets one of its own, committed at its end.
async fn a_connection_in_no_transaction_is_enough(world: World<Db>) {
    let store = world.another(1).await;
    let mut conn = store.pool().acquire().await.unwrap();
    assert!(note(&mut *conn, "n").await.unwrap().is_performed());
    assert!(!Db::in_transaction(&mut conn).await);
    assert_eq!(left(&world).await, [1, 1, 0]);
    assert!(note(&mut *conn, "n").await.unwrap().is_replayed());
    assert!(!Db::in_transaction(&mut conn).await);
    let error = fails_joined(&mut *conn, "f").await.unwrap_err();
    assert!(matches!(error, Failure::Refused("asked to")), "{error:?}");
    assert!(!Db::in_transaction(&mut conn).await);
    assert_eq!(
        (world.effects("f").await, world.rows("fails_joined_f").await),
        (0, 0)
    );
}

/// `store.within(&mut tx)` brings the store's options along, and `&mut tx` the default ones.
async fn the_stores_options_come_with_it(world: World<Db>) {
    let store = world.store.clone().result_limit(3);
    let mut tx = store.begin().await.unwrap();
    leave(&mut tx, "callers").await.unwrap();
    let error = note(store.within(&mut tx), "n").await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::ResultTooLarge { limit: 3, .. }),
        "{error:?}"
    );
    assert!(note(&mut tx, "n").await.unwrap().is_performed());
    tx.commit().await.unwrap();
    assert_eq!(left(&world).await, [1; 3]);
}

#[idempotent(key = "fails_joined_<name>")]
async fn fails_joined(conn: &mut Conn, name: &str) -> Result<(), Failure> {
    leave(conn, name).await?;
    Err(Failure::Refused("asked to"))
}

#[idempotent(key = "panicking_<name>")]
async fn panicking(conn: &mut Conn, name: &str) -> Result<(), Failure> {
    leave(conn, name).await?;
    panic!("exploded in a joined body");
}

/// A job that fails, panics or is dropped in it is undone alone; the caller's transaction goes on.
async fn a_failure_undoes_the_job_alone(world: World<Db>) {
    let mut tx = world.store.begin().await.unwrap();
    leave(&mut tx, "callers").await.unwrap();
    let error = fails_joined(&mut tx, "n").await.unwrap_err();
    assert!(matches!(error, Failure::Refused("asked to")), "{error:?}");
    let words = panic_of(panicking(&mut tx, "n")).await;
    assert_eq!(words, "exploded in a joined body");
    for waits in 0..12 {
        let name = format!("cut {waits}");
        if cut_after(waits, note(&mut tx, &name)).await.is_none() {
            // Whatever became of it, it can be called again in the same transaction.
            note(&mut tx, &name).await.unwrap().into_value();
        }
    }
    assert!(note(&mut tx, "n").await.unwrap().is_performed());
    tx.commit().await.unwrap();
    assert_eq!(left(&world).await, [1; 3]);
    for waits in 0..12 {
        assert_eq!(
            world.effects(&format!("cut {waits}")).await,
            1,
            "cut {waits}"
        );
    }
    assert_eq!(
        (
            world.rows("fails_joined_n").await,
            world.rows("panicking_n").await
        ),
        (0, 0)
    );
    assert!(!left_open(world.store.pool()).await);
}

/// A skip leaves no claim behind, and does not undo the caller's work.
async fn a_skip_undoes_nothing_of_the_callers(world: World<Db>) {
    world
        .run("UPDATE orders SET paid = TRUE WHERE id = 1")
        .await;
    let mut tx = world.store.begin().await.unwrap();
    leave(&mut tx, "callers").await.unwrap();
    assert_eq!(
        pay(&mut tx, 1).await.unwrap(),
        Outcome::Skipped(Skip::Guard)
    );
    assert_eq!(
        pay(&mut tx, 99).await.unwrap(),
        Outcome::Skipped(Skip::Missing)
    );
    assert_eq!(
        pay(&mut tx, 2).await.unwrap(),
        Outcome::Performed(Receipt::of(2))
    );
    tx.commit().await.unwrap();
    assert_eq!(
        (world.effects("callers").await, world.effects("pay").await),
        (1, 1)
    );
    assert_eq!(
        (world.rows("order_1").await, world.rows("order_2").await),
        (0, 1)
    );
}

/// The caller's own savepoints hold jobs too.
async fn a_job_is_undone_with_the_callers_savepoint(world: World<Db>) {
    let mut tx = world.store.begin().await.unwrap();
    leave(&mut tx, "callers").await.unwrap();
    let mut savepoint = tx.begin().await.unwrap();
    note(&mut savepoint, "n").await.unwrap().into_value();
    savepoint.rollback().await.unwrap();
    let mut savepoint = tx.begin().await.unwrap();
    assert!(note(&mut savepoint, "kept").await.unwrap().is_performed());
    savepoint.commit().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(left(&world).await, [0, 0, 1]);
    assert_eq!(world.effects("kept").await, 1);
}

#[idempotent(key = "deep_<depth>")]
async fn deep(conn: &mut Conn, depth: u32) -> Result<u32, Failure> {
    leave(&mut *conn, "deep").await?;
    match depth {
        0 => Ok(0),
        _ => {
            let below = Box::pin(deep(&mut *conn, depth - 1)).await?.into_value();
            Ok(below + 1)
        }
    }
}

/// Jobs in jobs in jobs: one transaction, one commit.
async fn jobs_nest_as_deep_as_they_like(world: World<Db>) {
    let store = world.another(1).await;
    assert_eq!(deep(&store, 5).await.unwrap(), Outcome::Performed(5));
    assert_eq!(world.effects("deep").await, 6);
    assert_eq!(deep(&store, 3).await.unwrap(), Outcome::Replayed(3));
    assert_eq!(deep(&store, 7).await.unwrap(), Outcome::Performed(7));
    assert_eq!(world.effects("deep").await, 8);
}

/// A transaction whose snapshot is older than another's completion is told to begin again, or sees
/// it; begun by `store.begin()`, it replays.
async fn an_old_snapshot_is_told_to_begin_again(world: World<Db>) {
    let mut old = world
        .store
        .pool()
        .begin_with(Db::BEGIN_SNAPSHOT)
        .await
        .unwrap();
    let _: i64 = sqlx::query_scalar("SELECT count(*) FROM effects")
        .fetch_one(&mut *old)
        .await
        .unwrap();
    let another = world.another(1).await;
    note(&another, "n").await.unwrap().into_value();
    match note(&mut old, "n").await {
        Ok(outcome) => assert!(outcome.is_replayed()),
        Err(error) => {
            let error = error.runtime();
            assert!(matches!(error, Error::OuterMustRetry { .. }), "{error:?}");
            assert!(error.is_retryable());
        }
    }
    old.rollback().await.unwrap();
    let mut tx = world.store.begin().await.unwrap();
    assert!(note(&mut tx, "n").await.unwrap().is_replayed());
    tx.commit().await.unwrap();
    assert_eq!(left(&world).await, [1, 1, 0]);
}

/// What is refused in it is refused without harm: another's key, other inputs.
async fn a_refusal_leaves_the_callers_transaction(world: World<Db>) {
    #[idempotent(key = "note_<name>")]
    async fn thief(conn: &mut Conn, name: &str) -> Result<(), Failure> {
        leave(conn, name).await?;
        Ok(())
    }
    note(&world.store, "n").await.unwrap().into_value();
    let mut tx = world.store.begin().await.unwrap();
    let taken = thief(&mut tx, "n").await.unwrap_err();
    assert!(
        matches!(taken.runtime(), Error::KeyTaken { .. }),
        "{taken:?}"
    );
    let empty = note(&mut tx, "").await.unwrap_err();
    assert!(
        matches!(empty.runtime(), Error::EmptyKeyPart { .. }),
        "{empty:?}"
    );
    leave(&mut tx, "callers").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(left(&world).await, [1; 3]);
}

idempotent_tests::tests!(
    a_job_commits_with_the_callers_transaction,
    a_job_is_undone_with_the_callers_transaction,
    a_connection_in_no_transaction_is_enough,
    the_stores_options_come_with_it,
    a_failure_undoes_the_job_alone,
    a_skip_undoes_nothing_of_the_callers,
    a_job_is_undone_with_the_callers_savepoint,
    jobs_nest_as_deep_as_they_like,
    an_old_snapshot_is_told_to_begin_again,
    a_refusal_leaves_the_callers_transaction,
);
