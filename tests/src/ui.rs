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
