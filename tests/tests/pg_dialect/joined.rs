//! Jobs in a transaction of the caller's.

use idempotent_runtime::{Error, Outcome, idempotent};
use sqlx::{Acquire, PgConnection};

use crate::work::{Failure, PgWorld, another, leave, plain, until_waiting};

/// Two jobs of one transaction, the second inside the first one's body.
#[idempotent(key = "both_<n>")]
async fn both(conn: &mut PgConnection, n: i64) -> Result<i64, Failure> {
    leave(&mut *conn, &format!("both_{n}")).await?;
    plain(&mut *conn, n).await?;
    Ok(n)
}

async fn jobs_commit_and_roll_back_with_the_outer_transaction(world: PgWorld) {
    let mut tx = world.store.begin().await.unwrap();
    assert!(both(&mut tx, 1).await.unwrap().is_performed());
    assert!(both(&mut tx, 1).await.unwrap().is_replayed());
    assert!(plain(&mut tx, 1).await.unwrap().is_replayed());
    tx.rollback().await.unwrap();
    assert_eq!(
        (world.rows("both_1").await, world.rows("plain_1").await),
        (0, 0)
    );

    let mut tx = world.store.begin().await.unwrap();
    assert!(
        both(world.store.within(&mut tx), 1)
            .await
            .unwrap()
            .is_performed()
    );
    let mut inner = tx.begin().await.unwrap();
    assert!(plain(&mut inner, 2).await.unwrap().is_performed());
    inner.rollback().await.unwrap();
    assert!(plain(&mut tx, 3).await.unwrap().is_performed());
    tx.commit().await.unwrap();
    let rows = [
        world.rows("both_1").await,
        world.rows("plain_2").await,
        world.rows("plain_3").await,
    ];
    assert_eq!(rows, [1, 0, 1]);
    assert_eq!(
        (
            world.effects("plain_1").await,
            world.effects("plain_2").await
        ),
        (1, 0)
    );
}

async fn a_snapshot_that_is_too_old_says_to_begin_again(world: PgWorld) {
    let other = another(&world).await;
    for (n, level) in [
        (1, "BEGIN ISOLATION LEVEL REPEATABLE READ"),
        (2, "BEGIN ISOLATION LEVEL SERIALIZABLE"),
    ] {
        let mut tx = world.store.pool().begin_with(level).await.unwrap();
        leave(&mut tx, "outer").await.unwrap();
        plain(&other, n).await.unwrap();
        let error = plain(&mut tx, n).await.unwrap_err();
        let error = error.runtime();
        assert!(matches!(error, Error::OuterMustRetry { .. }), "{error:?}");
        assert!(error.is_retryable());
        // The outer transaction is as it was, and may also go on with something else.
        assert!(plain(&mut tx, n + 10).await.unwrap().is_performed());
        tx.rollback().await.unwrap();

        let mut tx = world.store.pool().begin_with(level).await.unwrap();
        assert_eq!(plain(&mut tx, n).await.unwrap(), Outcome::Replayed(n));
        tx.commit().await.unwrap();
        assert_eq!(world.effects(&format!("plain_{n}")).await, 1);
    }
    assert_eq!(world.effects("outer").await, 0);
}

/// Two transactions that take each other's keys in opposite order.
async fn a_deadlock_of_callers_is_retryable_for_one(world: PgWorld) {
    let (a, b) = (another(&world).await, another(&world).await);
    let (mut first, mut second) = (a.begin().await.unwrap(), b.begin().await.unwrap());
    plain(&mut first, 1).await.unwrap();
    plain(&mut second, 2).await.unwrap();
    let cross = tokio::spawn(async move {
        let done = plain(&mut first, 2).await;
        if done.is_ok() {
            first.commit().await.unwrap()
        } else {
            first.rollback().await.unwrap()
        }
        done
    });
    let done = plain(&mut second, 1).await;
    if done.is_ok() {
        second.commit().await.unwrap()
    } else {
        second.rollback().await.unwrap()
    }
    let (one, two) = (cross.await.unwrap(), done);
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    let error = one.err().or(two.err()).unwrap();
    assert!(
        matches!(error.runtime(), Error::OuterMustRetry { .. }),
        "{error:?}"
    );
    for store in [&a, &b] {
        plain(store, 1).await.unwrap();
        plain(store, 2).await.unwrap();
    }
    assert_eq!(
        (
            world.effects("plain_1").await,
            world.effects("plain_2").await
        ),
        (1, 1)
    );
}

/// The caller went on after an error, in a transaction that nothing of can be kept.
async fn a_transaction_that_is_lost_already_says_so(world: PgWorld) {
    let mut tx = world.store.begin().await.unwrap();
    leave(&mut tx, "outer").await.unwrap();
    sqlx::query("SELECT 1 / 0")
        .execute(&mut *tx)
        .await
        .unwrap_err();
    let error = plain(&mut tx, 1).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::OuterLost { .. }),
        "{error:?}"
    );
    drop(tx);
    assert_eq!(
        (world.effects("outer").await, world.rows("plain_1").await),
        (0, 0)
    );
    assert!(plain(&world.store, 1).await.unwrap().is_performed());
}

async fn a_bare_connection_gets_a_transaction_of_its_own(world: PgWorld) {
    let mut conn = world.store.pool().acquire().await.unwrap();
    assert!(plain(&mut *conn, 1).await.unwrap().is_performed());
    assert_eq!(world.rows("plain_1").await, 1);
    assert!(plain(&mut *conn, 1).await.unwrap().is_replayed());
    leave(&mut conn, "after").await.unwrap();
    assert_eq!(world.effects("after").await, 1);
}

/// sqlx does not know of it, and the job's commit would be the caller's.
async fn a_transaction_that_raw_sql_began_is_refused_and_left_alone(world: PgWorld) {
    let mut conn = world.store.pool().acquire().await.unwrap();
    sqlx::raw_sql("BEGIN").execute(&mut *conn).await.unwrap();
    leave(&mut conn, "raw").await.unwrap();
    let error = plain(&mut *conn, 1).await.unwrap_err();
    assert!(
        matches!(
            error.runtime(),
            Error::Database {
                retryable: false,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(world.effects("raw").await, 0);
    leave(&mut conn, "raw").await.unwrap();
    sqlx::raw_sql("COMMIT").execute(&mut *conn).await.unwrap();
    assert_eq!(
        (world.effects("raw").await, world.rows("plain_1").await),
        (2, 0)
    );
    assert!(plain(&mut *conn, 1).await.unwrap().is_performed());
}

/// The server has room for some thousands of locks, of all sessions together: a batch in one transaction
/// takes a few of them, and its last key is claimed as its first is.
async fn a_large_batch_takes_few_locks(world: PgWorld) {
    const BATCH: i64 = 200;
    let mut tx = world.store.begin().await.unwrap();
    for n in 0..BATCH {
        assert!(plain(&mut tx, n).await.unwrap().is_performed());
    }
    let locks: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'",
    )
    .fetch_one(&mut *tx)
    .await
    .unwrap();
    assert!((1..=64).contains(&locks), "{locks} locks");
    let mut duplicates = Vec::new();
    for n in [0, BATCH - 1] {
        let store = another(&world).await;
        duplicates.push(tokio::spawn(async move { plain(&store, n).await }));
    }
    until_waiting(&world, 2).await;
    tx.commit().await.unwrap();
    for duplicate in duplicates {
        assert!(duplicate.await.unwrap().unwrap().is_replayed());
    }
    assert_eq!(world.effects("plain_0").await, 1);
}

idempotent_tests::tests!(
    jobs_commit_and_roll_back_with_the_outer_transaction,
    a_snapshot_that_is_too_old_says_to_begin_again,
    a_deadlock_of_callers_is_retryable_for_one,
    a_transaction_that_is_lost_already_says_so,
    a_bare_connection_gets_a_transaction_of_its_own,
    a_transaction_that_raw_sql_began_is_refused_and_left_alone,
    a_large_batch_takes_few_locks,
);
