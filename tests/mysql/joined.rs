//! Jobs inside a transaction of the caller's, at each isolation.

use idempotent_runtime::{Error, idempotent};
use sqlx::{Connection, MySqlConnection};

use super::words::{Failure, assert_clean, leave, raw};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "inner_<n>", ignore(fails))]
async fn inner(conn: &mut Conn, n: i64, fails: bool) -> Result<i64, Failure> {
    leave(conn, "inner").await?;
    if fails { Err(Failure::Refused) } else { Ok(n) }
}

#[idempotent(key = "middle_<n>")]
async fn middle(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
    leave(&mut *conn, "middle").await?;
    assert!(matches!(
        inner(&mut *conn, n + 1, true).await,
        Err(Failure::Refused)
    ));
    inner(&mut *conn, n, false).await?.into_value();
    inner(conn, n, false).await?.into_value();
    Ok(n)
}

const ISOLATIONS: [&str; 4] = [
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
];

async fn at(world: &World<Db>, isolation: &'static str) -> MySqlConnection {
    let mut conn = MySqlConnection::connect(&world.url).await.unwrap();
    raw(&mut conn, isolation).await.unwrap();
    conn
}

/// What the snapshot cannot see is seen by the claim, and replayed; nothing loops.
async fn a_key_that_came_after_the_snapshot_is_replayed(world: World<Db>) {
    for (n, isolation) in (1..).zip(ISOLATIONS) {
        let mut conn = at(&world, isolation).await;
        let mut tx = conn.begin().await.unwrap();
        // The snapshot is taken here.
        raw(&mut tx, "SELECT * FROM orders").await.unwrap();
        assert!(inner(&world.store, n, false).await.unwrap().is_performed());
        let replayed = inner(&mut tx, n, false).await.unwrap();
        assert!(replayed.is_replayed(), "{isolation}");
        leave(&mut tx, "outer").await.unwrap();
        tx.commit().await.unwrap();
    }
    assert_eq!(
        (world.effects("inner").await, world.effects("outer").await),
        (4, 4)
    );
}

async fn jobs_nest_and_commit_with_the_caller(world: World<Db>) {
    for (n, isolation) in (1..).map(|n| n * 10).zip(ISOLATIONS) {
        let mut conn = at(&world, isolation).await;
        let mut tx = conn.begin().await.unwrap();
        assert!(middle(&mut tx, n).await.unwrap().is_performed());
        assert!(middle(&mut tx, n).await.unwrap().is_replayed());
        let mut savepoint = tx.begin().await.unwrap();
        assert!(middle(&mut savepoint, n + 5).await.unwrap().is_performed());
        savepoint.rollback().await.unwrap();
        tx.commit().await.unwrap();
        assert!(middle(&world.store, n).await.unwrap().is_replayed());
        assert!(inner(&world.store, n, false).await.unwrap().is_replayed());
    }
    assert_eq!(
        (world.effects("middle").await, world.effects("inner").await),
        (4, 4)
    );
    assert_eq!(world.rows("middle_15").await, 0);
}

async fn what_the_caller_rolls_back_was_never_there(world: World<Db>) {
    let mut tx = world.store.begin().await.unwrap();
    assert!(middle(&mut tx, 1).await.unwrap().is_performed());
    tx.rollback().await.unwrap();
    assert_eq!(
        (world.rows("middle_1").await, world.effects("inner").await),
        (0, 0)
    );
    assert!(middle(&world.store, 1).await.unwrap().is_performed());
    assert_clean(&world.store).await;
}

/// The session's default isolation decides nothing in transactions of ours.
async fn the_sessions_isolation_is_not_ours(world: World<Db>) {
    #[idempotent(key = "isolation_<n>")]
    async fn isolation(conn: &mut Conn, n: i64) -> Result<String, Failure> {
        let _ = n;
        leave(&mut *conn, "isolation").await?;
        // The server's list of transactions is a tenth of a second old.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let text: String = sqlx::query_scalar(
            "SELECT CAST(trx_isolation_level AS CHAR) FROM information_schema.innodb_trx \
             WHERE trx_mysql_thread_id = CONNECTION_ID()",
        )
        .fetch_one(conn)
        .await?;
        Ok(text)
    }
    for (n, level) in (1..).zip(ISOLATIONS) {
        let mut conn = at(&world, level).await;
        let own = isolation(&mut conn, n).await.unwrap().into_value();
        assert_eq!(own, "READ COMMITTED", "{level}");
        let left: String = sqlx::query_scalar("SELECT CAST(@@transaction_isolation AS CHAR)")
            .fetch_one(&mut conn)
            .await
            .or(sqlx::query_scalar("SELECT CAST(@@tx_isolation AS CHAR)")
                .fetch_one(&mut conn)
                .await)
            .unwrap();
        assert!(level.replace(' ', "-").ends_with(&left), "{level}: {left}");
    }
}

/// A transaction that was begun by raw SQL is not committed by the job's own begin.
async fn a_raw_begin_is_not_committed(world: World<Db>) {
    let mut conn = MySqlConnection::connect(&world.url).await.unwrap();
    raw(&mut conn, "BEGIN").await.unwrap();
    leave(&mut conn, "raw").await.unwrap();
    let error = inner(&mut conn, 1, false).await.unwrap_err();
    assert!(
        matches!(
            error.runtime(),
            Error::Database { .. } | Error::Unsupported { .. }
        ),
        "{error:?}"
    );
    eprintln!("raw BEGIN: {error:?}");
    raw(&mut conn, "ROLLBACK").await.unwrap();
    assert_eq!(
        (world.effects("raw").await, world.rows("inner_1").await),
        (0, 0)
    );
    assert!(inner(&mut conn, 1, false).await.unwrap().is_performed());
}

/// 28: two outer transactions reach each other's keys in opposite order: one gives way.
async fn opposite_orders_end(world: World<Db>) {
    let (mut a, mut b) = (
        world.store.begin().await.unwrap(),
        world.store.begin().await.unwrap(),
    );
    inner(&mut a, 1, false).await.unwrap().into_value();
    inner(&mut b, 2, false).await.unwrap().into_value();
    let began = std::time::Instant::now();
    let (first, second) = tokio::join!(inner(&mut a, 2, false), async {
        let second = inner(&mut b, 1, false).await;
        if second.is_err() {
            drop(b);
        }
        second
    });
    eprintln!(
        "opposite orders: {first:?} {second:?} after {:?}",
        began.elapsed()
    );
    for answer in [&first, &second] {
        if let Err(error) = answer {
            assert!(error.runtime().is_retryable(), "{error:?}");
        }
    }
    assert!(first.is_err() || second.is_err());
    drop(a);
    for n in [1, 2] {
        inner(&world.store, n, false).await.unwrap().into_value();
    }
    assert_eq!(world.effects("inner").await, 2);
    assert_clean(&world.store).await;
}

idempotent_tests::tests!(
    a_key_that_came_after_the_snapshot_is_replayed,
    jobs_nest_and_commit_with_the_caller,
    what_the_caller_rolls_back_was_never_there,
    the_sessions_isolation_is_not_ours,
    a_raw_begin_is_not_committed,
    opposite_orders_end,
);
