//! Jobs that call jobs, join transactions, run on tasks, and take steps.
#![deny(warnings)]

use idempotent_tests::ui::*;

#[idempotent(key = "inner_<order_id>")]
async fn inner(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "outer_<order_id>")]
async fn outer(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let first = inner(&mut *conn, order_id).await?.into_value();
    let second = order_total(conn, order_id).await?;
    Ok(first + second)
}

#[idempotent(key = "leased_outer_<order_id>")]
async fn leased_outer(job: &mut Job<'_, Sqlite>, order_id: i64) -> Result<u32, Failure> {
    let through_the_store = inner(job.store(), order_id).await?.into_value();
    let charged = job
        .step("charge", async |key| gateway::charge(key, order_id).await)
        .await??;
    let booked = job
        .tx_step("book", async |conn| order_total(conn, order_id).await)
        .await??;
    let in_the_end = order_total(job.tx().await?, order_id).await?;
    Ok(through_the_store + charged + booked + in_the_end)
}

#[idempotent(key = "deep_<depth>")]
async fn deep(conn: &mut SqliteConnection, depth: u32) -> Result<u32, Failure> {
    if depth == 0 {
        return Ok(0);
    }
    Ok(Box::pin(deep(conn, depth - 1)).await?.into_value() + 1)
}

fn is_send<T: Send>(value: T) -> T {
    value
}

async fn joined(store: &SqliteStore) -> Result<u32, Failure> {
    let mut tx = store.begin().await?;
    let through_options = inner(store.within(&mut tx), 42).await?.into_value();
    let plainly = inner(&mut tx, 42).await?.into_value();
    tx.commit().await?;
    Ok(through_options + plainly)
}

fn main() {
    on_a_store(async |store| {
        assert_eq!(joined(store).await.unwrap(), 14);
        assert_eq!(is_send(outer(store, 42)).await.unwrap().into_value(), 14);
        let leased = is_send(leased_outer(store, 42)).await.unwrap();
        assert_eq!(leased.into_value(), 7 + 42 + 7 + 7);
        assert_eq!(deep(store, 3).await.unwrap().into_value(), 3);
        let owned = store.clone();
        let task = tokio::spawn(async move { outer(owned, 42).await });
        assert!(task.await.unwrap().unwrap().is_replayed());
    });
}
