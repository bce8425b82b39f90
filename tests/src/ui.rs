//! What the files under `ui/` share, so that each of them shows its one mistake and little else.

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "read in `ui/` only"
)]

pub use std::collections::HashMap;
pub use std::time::{Instant, SystemTime};

pub use idempotent_runtime::{
    Error, Job, KeyPart, Never, Outcome, Postgres, Skip, Sqlite, SqliteStore, Store, idempotent,
};
pub use serde::{Deserialize, Serialize};
pub use sqlx::{SqliteConnection, SqlitePool, Transaction};

/// An error as a program has it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Idempotent(#[from] Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("not an amount")]
    Amount(#[from] std::num::TryFromIntError),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub id: i64,
    pub amount: u32,
}

/// A dependency: not an input of any job.
#[derive(Debug)]
pub struct Gateway;

pub mod gateway {
    use super::Failure;
    use idempotent_runtime::Key;

    pub async fn charge(key: &Key, order_id: i64) -> Result<u32, Failure> {
        let _ = key;
        Ok(u32::try_from(order_id)?)
    }
}

/// What a generic job is generic over.
pub trait Rate {
    const RATE: u32;
}

pub struct Vat;

impl Rate for Vat {
    const RATE: u32 = 2;
}

pub async fn raw_total(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<u32> {
    sqlx::query_scalar("SELECT total FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_one(conn)
        .await
}

pub async fn order_total(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    Ok(raw_total(conn, order_id).await?)
}

pub async fn paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT paid FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_one(conn)
        .await
}

pub async fn load_total(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

pub async fn look_up(conn: &mut SqliteConnection, order_id: i64) -> Result<Option<u32>, Failure> {
    order_total(conn, order_id).await.map(Some)
}

/// Like [`look_up`], for a leased job.
pub async fn look_up_outside(
    job: &mut Job<'_, Sqlite>,
    order_id: i64,
) -> Result<Option<u32>, Failure> {
    gateway::charge(job.key(), order_id).await.map(Some)
}

pub async fn pay(conn: &mut SqliteConnection, order_id: i64) -> Result<(), Failure> {
    sqlx::query("UPDATE orders SET paid = TRUE WHERE id = ?")
        .bind(order_id)
        .execute(conn)
        .await?;
    Ok(())
}

/// Runs what is right on a store of its own, with the order 42 in it: 7 to pay.
///
/// # Panics
/// If there is no such store to be had.
pub fn on_a_store<T>(work: impl AsyncFnOnce(&SqliteStore) -> T) -> T {
    const ORDERS: &str =
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, paid BOOLEAN);
        CREATE TABLE payments (order_id INTEGER CONSTRAINT payments_order_id UNIQUE);
        INSERT INTO orders VALUES (42, 7, FALSE);";
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("shop.db").display());
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(&url).await.expect("a store");
        let orders = sqlx::raw_sql(ORDERS).execute(store.pool()).await;
        orders.expect("tables");
        let done = work(&store).await;
        store.close().await;
        done
    })
}
