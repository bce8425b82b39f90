//! A job with an effect outside of the database: a charge at a payment gateway.
//!
//! The job hands the gateway the same key on every attempt. When the answer gets
//! lost, nobody knows whether the charge was made; the retry asks again with the
//! same key, and is given the first charge.

use std::collections::HashSet;
use std::sync::Mutex;

use idempotent_runtime::{Job, Key, Sqlite, SqliteStore, idempotent};
use sqlx::SqliteConnection;

#[idempotent(key = "order_<order_id>", guard = paid)]
async fn charge_payment(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    order_id: i64,
) -> anyhow::Result<String> {
    let charge_id = gateway.charge(job.key())?;
    // The completion's transaction: the mark commits with the key.
    sqlx::query("UPDATE orders SET charge_id = ? WHERE id = ?")
        .bind(&charge_id)
        .bind(order_id)
        .execute(job.tx().await?)
        .await?;
    Ok(charge_id)
}

async fn paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT charge_id IS NOT NULL FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

/// A gateway that honours keys, and whose first answer to each gets lost.
#[derive(Default)]
struct Gateway(Mutex<HashSet<String>>);

impl Gateway {
    fn charge(&self, key: &Key) -> anyhow::Result<String> {
        let charged = self.0.lock().unwrap().insert(key.as_str().to_owned());
        anyhow::ensure!(
            !charged,
            "charged {key}, but the connection broke before the answer"
        );
        Ok(format!("charge of {key}"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let store = SqliteStore::open(&format!("sqlite:{}/shop.db", dir.path().display())).await?;
    sqlx::raw_sql(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, charge_id TEXT);
         INSERT INTO orders (id) VALUES (42);",
    )
    .execute(store.pool())
    .await?;
    let gateway = Gateway::default();

    let lost = charge_payment(&store, &gateway, 42).await.unwrap_err();
    println!("{lost}"); // charged order_42, but the connection broke before the answer
    println!("{:?}", charge_payment(&store, &gateway, 42).await?); // Performed("charge of order_42")
    println!("{:?}", charge_payment(&store, &gateway, 42).await?); // Replayed("charge of order_42")
    Ok(())
}
