//! Jobs on SQLite that are dropped at any await, or whose runtime ends.

use std::task::Poll;

use idempotent_runtime::{SqliteStore, idempotent};
use sqlx::SqliteConnection;

#[idempotent(key = "cut_<n>", ignore(stay))]
async fn leave(conn: &mut SqliteConnection, n: i64, stay: bool) -> anyhow::Result<()> {
    sqlx::query("INSERT INTO effects VALUES (?)")
        .bind(n)
        .execute(conn)
        .await?;
    if stay {
        std::future::pending::<()>().await;
    }
    Ok(())
}

async fn count(store: &SqliteStore, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql)
        .fetch_one(store.pool())
        .await
        .unwrap()
}

async fn open(folder: &tempfile::TempDir) -> SqliteStore {
    SqliteStore::open(folder.path().join("cuts.db").to_str().unwrap())
        .await
        .unwrap()
}

/// 17: a pool of one, 1,000 drops at random awaits: the next statement is in no transaction, and a
/// job's write is there if and only if its key is done.
#[tokio::test]
async fn a_thousand_drops_leave_the_pool_clean() {
    let folder = tempfile::tempdir().unwrap();
    let other = open(&folder).await;
    sqlx::raw_sql("CREATE TABLE effects (n INTEGER); CREATE TABLE probe (n INTEGER)")
        .execute(other.pool())
        .await
        .unwrap();
    let options = (*other.pool().connect_options()).clone();
    let pool = sqlx::sqlite::SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await
        .unwrap();
    let store = idempotent_runtime::Store::new(pool);
    let mut seed = u64::from(std::process::id()) | 1;
    eprintln!("seed {seed}");
    for n in 0..1000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut job = Box::pin(leave(&store, n, false));
        for _ in 0..seed >> 60 {
            let polled = std::future::poll_fn(|cx| Poll::Ready(job.as_mut().poll(cx)));
            if polled.await.is_ready() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_micros(seed >> 56)).await;
        }
        drop(job);
        sqlx::query("INSERT INTO probe VALUES (?)")
            .bind(n)
            .execute(store.pool())
            .await
            .unwrap();
        assert_eq!(
            count(&other, "SELECT count(*) FROM probe").await,
            n + 1,
            "a write was lost"
        );
    }
    let doubles = "SELECT count(*) - count(DISTINCT n) FROM effects";
    assert_eq!(count(&other, doubles).await, 0);
    let done = "SELECT count(*) FROM idempotent_keys WHERE status = 1";
    assert_eq!(
        count(&other, done).await,
        count(&other, "SELECT count(*) FROM effects").await
    );
}

/// 18: a runtime that ends in mid-body undoes the job, and the retry runs.
#[test]
fn a_runtime_that_ends_undoes_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    first.block_on(async {
        let store = open(&folder).await;
        sqlx::raw_sql("CREATE TABLE effects (n INTEGER)")
            .execute(store.pool())
            .await
            .unwrap();
        let mut job = Box::pin(leave(store, 1, true));
        // Into the body, and no further.
        let waited = tokio::time::timeout(std::time::Duration::from_millis(300), &mut job).await;
        assert!(waited.is_err());
        tokio::spawn(async move { drop(job.await) });
    });
    drop(first);
    runtime().block_on(async {
        let store = open(&folder).await;
        assert_eq!(count(&store, "SELECT count(*) FROM effects").await, 0);
        assert!(leave(&store, 1, false).await.unwrap().is_performed());
        assert_eq!(count(&store, "SELECT count(*) FROM effects").await, 1);
    });
}
