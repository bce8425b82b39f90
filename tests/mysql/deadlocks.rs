//! 1213 undoes the whole transaction, after which statements run by themselves.

use std::sync::Arc;

use idempotent_runtime::{Error, Job, idempotent};
use sqlx::{Connection as _, MySqlConnection};
use tokio::sync::Barrier;

use super::words::{Failure, assert_clean, leave, raw};
use crate::db::{Conn, Db};
use crate::world::World;

/// Locks two orders, and meets another body between the two.
async fn lock_two(conn: &mut Conn, first: i64, second: i64, meet: &Barrier) -> sqlx::Result<()> {
    let lock = "UPDATE orders SET total = total + 1 WHERE id = ?";
    sqlx::query(lock).bind(first).execute(&mut *conn).await?;
    meet.wait().await;
    sqlx::query(lock).bind(second).execute(conn).await.map(drop)
}

#[idempotent(key = "two_<first>_<second>", ignore(meet))]
async fn two(conn: &mut Conn, first: i64, second: i64, meet: &Barrier) -> Result<i64, Failure> {
    leave(&mut *conn, "two").await?;
    lock_two(conn, first, second, meet).await?;
    Ok(first)
}

/// The body's own deadlock is its own error, all of it is undone, and the retry runs.
async fn a_deadlock_of_bodies_leaves_one_to_retry(world: World<Db>) {
    for round in 0..5 {
        world
            .run("DELETE FROM idempotent_keys; DELETE FROM effects")
            .await;
        let meet = Barrier::new(2);
        let (a, b) = tokio::join!(
            two(&world.store, 1, 2, &meet),
            two(&world.store, 2, 1, &meet)
        );
        let lost = match (a, b) {
            (Ok(_), Err(lost)) | (Err(lost), Ok(_)) => lost,
            other => panic!("round {round}: {other:?}"),
        };
        assert!(matches!(lost, Failure::Database(_)), "{lost:?}");
        assert_eq!(world.effects("two").await, 1);
        let alone = Barrier::new(1);
        for (first, second) in [(1, 2), (2, 1)] {
            two(&world.store, first, second, &alone)
                .await
                .unwrap()
                .into_value();
        }
        assert_eq!(world.effects("two").await, 2);
    }
    assert_clean(&world.store).await;
}

#[idempotent(key = "around_<first>_<second>", ignore(meet))]
async fn around(conn: &mut Conn, first: i64, second: i64, meet: &Barrier) -> Result<i64, Failure> {
    leave(&mut *conn, "around").await?;
    two(&mut *conn, first, second, meet).await?.into_value();
    Ok(first)
}

/// A deadlock inside a job inside a job: both are undone, neither is in doubt.
async fn a_deadlock_of_an_inner_job_undoes_the_outer(world: World<Db>) {
    let meet = Barrier::new(2);
    let (a, b) = tokio::join!(
        around(&world.store, 1, 2, &meet),
        around(&world.store, 2, 1, &meet)
    );
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
    assert_eq!(
        (world.effects("around").await, world.effects("two").await),
        (1, 1)
    );
    let alone = Barrier::new(1);
    for (first, second) in [(1, 2), (2, 1)] {
        around(&world.store, first, second, &alone)
            .await
            .unwrap()
            .into_value();
    }
    assert_eq!(
        (world.effects("around").await, world.effects("two").await),
        (2, 2)
    );
    assert_clean(&world.store).await;
}

#[idempotent(key = "swallow_<first>_<second>", ignore(meet, writes))]
async fn swallow(
    conn: &mut Conn,
    first: i64,
    second: i64,
    meet: &Barrier,
    writes: bool,
) -> Result<bool, Failure> {
    leave(&mut *conn, "swallow").await?;
    let lost = lock_two(&mut *conn, first, second, meet).await.is_err();
    if writes {
        leave(conn, "swallow on").await?;
    }
    Ok(lost)
}

/// 16: a body that swallows its deadlock and returns Ok is never done.
async fn a_swallowed_deadlock_is_never_done(world: World<Db>) {
    for writes in [false, true] {
        world
            .run("DELETE FROM idempotent_keys; DELETE FROM effects")
            .await;
        let meet = Barrier::new(2);
        let (a, b) = tokio::join!(
            swallow(&world.store, 1, 2, &meet, writes),
            swallow(&world.store, 2, 1, &meet, writes)
        );
        let lost = match (a, b) {
            (Ok(won), Err(lost)) | (Err(lost), Ok(won)) if won.value() == Some(false) => lost,
            other => panic!("{other:?}"),
        };
        assert!(
            matches!(lost.runtime(), Error::TransactionEscaped { .. }),
            "{lost:?}"
        );
        assert_eq!(world.effects("swallow").await, 1);
    }
    assert_clean(&world.store).await;
}

#[idempotent(key = "leased_two_<first>_<second>", ignore(meet))]
async fn leased_two(
    job: &mut Job<'_, Db>,
    first: i64,
    second: i64,
    meet: &Barrier,
) -> Result<i64, Failure> {
    let conn = job.tx().await?;
    leave(&mut *conn, "leased two").await?;
    lock_two(conn, first, second, meet).await?;
    Ok(first)
}

async fn a_deadlock_of_leased_jobs_leaves_one_to_retry(world: World<Db>) {
    let meet = Barrier::new(2);
    let (a, b) = tokio::join!(
        leased_two(&world.store, 1, 2, &meet),
        leased_two(&world.store, 2, 1, &meet)
    );
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
    let alone = Barrier::new(1);
    for (first, second) in [(1, 2), (2, 1)] {
        leased_two(&world.store, first, second, &alone)
            .await
            .unwrap()
            .into_value();
    }
    assert_eq!(world.effects("leased two").await, 2);
    assert_clean(&world.store).await;
}

#[idempotent(key = "plain_<n>")]
async fn plain(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
    leave(conn, "plain").await?;
    Ok(n)
}

/// A claim that gives way takes the other path: its row first. (Raised by a trigger.)
async fn a_claim_that_gives_way_is_made_on_a_reserved_row(world: World<Db>) {
    world
        .run(
            "CREATE TRIGGER deadlock BEFORE INSERT ON idempotent_keys FOR EACH ROW BEGIN \
             IF NEW.status = 0 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF; END",
        )
        .await;
    assert!(plain(&world.store, 1).await.unwrap().is_performed());
    assert!(plain(&world.store, 1).await.unwrap().is_replayed());
    assert_eq!(world.effects("plain").await, 1);
    // A caller's transaction has no second connection to put the row down on. (A true deadlock would
    // have ended it; that of a trigger leaves it open.)
    let mut conn = MySqlConnection::connect(&world.url).await.unwrap();
    let mut tx = conn.begin().await.unwrap();
    let lost = plain(&mut tx, 2).await.unwrap_err();
    assert!(
        matches!(lost.runtime(), Error::OuterLost { .. }),
        "{lost:?}"
    );
    assert!(lost.runtime().is_retryable());
    drop(tx);
    conn.close().await.unwrap();
    assert_eq!(world.rows("plain_2").await, 0);
    assert_clean(&world.store).await;
}

#[idempotent(key = "leased_plain_<n>")]
async fn leased_plain(job: &mut Job<'_, Db>, n: i64) -> Result<i64, Failure> {
    leave(job.tx().await?, "plain").await?;
    Ok(n)
}

#[idempotent(key = "failing_<n>", ignore(fails))]
async fn failing(conn: &mut Conn, n: i64, fails: bool) -> Result<i64, Failure> {
    leave(conn, "failing").await?;
    if fails { Err(Failure::Refused) } else { Ok(n) }
}

/// A reserved row is not there for anybody: not for a job of any kind, not for a look.
async fn a_reserved_row_is_not_there(world: World<Db>) {
    let reserve = "INSERT INTO idempotent_keys (`key`, job, status, owner, fence, attempts, first_at, \
                   claimed_at, forget_at) VALUES (?, 'another', 3, '', 0, 0, UTC_TIMESTAMP(6), \
                   UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 DAY)";
    for key in ["failing_1", "leased_plain_1", "failing_2", "failing_3"] {
        world.change(reserve, key).await;
    }
    assert!(matches!(
        failing(&world.store, 1, true).await,
        Err(Failure::Refused)
    ));
    assert!(
        failing(&world.store, 1, false)
            .await
            .unwrap()
            .is_performed()
    );
    assert!(failing(&world.store, 1, false).await.unwrap().is_replayed());
    assert!(leased_plain(&world.store, 1).await.unwrap().is_performed());
    assert!(leased_plain(&world.store, 1).await.unwrap().is_replayed());
    let mut tx = world.store.begin().await.unwrap();
    assert!(failing(&mut tx, 2, false).await.unwrap().is_performed());
    tx.commit().await.unwrap();
    assert!(failing(&world.store, 2, false).await.unwrap().is_replayed());
    // One that nobody completes goes after a day.
    assert_eq!(world.store.purge().await.unwrap(), 0);
    world.end_retention("failing_3").await;
    assert_eq!(world.store.purge().await.unwrap(), 1);
}

/// Claims of one reserved row by many: one runs, and it is no deadlock.
async fn many_claims_of_a_reserved_row_are_one_run(world: World<Db>) {
    world
        .run(
            "CREATE TRIGGER deadlock BEFORE INSERT ON idempotent_keys FOR EACH ROW BEGIN \
             IF NEW.status = 0 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF; END",
        )
        .await;
    let meet = Arc::new(Barrier::new(8));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, meet) = (world.another(2).await, Arc::clone(&meet));
        tasks.spawn(async move {
            meet.wait().await;
            plain(&store, 1).await.unwrap().is_performed()
        });
    }
    let performed = tasks
        .join_all()
        .await
        .into_iter()
        .filter(|done| *done)
        .count();
    assert_eq!((performed, world.effects("plain").await), (1, 1));
}

#[idempotent(key = "snapshot_<n>")]
async fn reads_then_writes(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
    leave(conn, "snapshot").await?;
    Ok(n)
}

/// 1020, MariaDB's answer to a write under an old snapshot, inside a caller's transaction.
async fn a_row_that_changed_since_the_snapshot_is_retryable(world: World<Db>) {
    let mut conn = world.store.pool().acquire().await.unwrap();
    raw(
        &mut conn,
        "SET SESSION innodb_snapshot_isolation = ON, SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    )
    .await
    .ok();
    raw(&mut conn, "SET SESSION innodb_snapshot_isolation = ON")
        .await
        .unwrap();
    let mut tx = sqlx::Connection::begin(&mut *conn).await.unwrap();
    raw(&mut tx, "SELECT * FROM idempotent_keys").await.unwrap();
    assert!(
        reads_then_writes(&world.store, 1)
            .await
            .unwrap()
            .is_performed()
    );
    let answer = reads_then_writes(&mut tx, 1).await;
    eprintln!("under an old snapshot: {answer:?}");
    match answer {
        Ok(outcome) => assert!(outcome.is_replayed()),
        Err(error) => assert!(error.runtime().is_retryable(), "{error:?}"),
    }
    drop(tx);
    let _ = conn.detach();
    assert_eq!(world.effects("snapshot").await, 1);
}

idempotent_tests::tests!(
    a_deadlock_of_bodies_leaves_one_to_retry,
    a_deadlock_of_an_inner_job_undoes_the_outer,
    a_swallowed_deadlock_is_never_done,
    a_deadlock_of_leased_jobs_leaves_one_to_retry,
    a_claim_that_gives_way_is_made_on_a_reserved_row,
    a_reserved_row_is_not_there,
    many_claims_of_a_reserved_row_are_one_run,
    a_row_that_changed_since_the_snapshot_is_retryable,
);
