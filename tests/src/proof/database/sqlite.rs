//! SQLite, as the proof has it.

use std::time::Duration;

use idempotent_runtime::Store;
use sqlx::Pool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use super::{Left, ProofDatabase, Refusal};
use crate::proof::Result;
use crate::proof::checker::{Attempt, Row};
use crate::proof::jobs::{JobError, Kind, Run};
use crate::world::TestDatabase as _;

impl ProofDatabase for sqlx::Sqlite {
    const CALLED: &'static str = "sqlite";
    const TABLES: &'static str = "
        CREATE TABLE effects (k TEXT NOT NULL, run TEXT NOT NULL);
        CREATE TABLE runs (k TEXT NOT NULL, run TEXT NOT NULL, epoch INTEGER NOT NULL, fence INTEGER
            NOT NULL);
        CREATE TABLE marks (k TEXT NOT NULL);
        CREATE TABLE probes (k TEXT NOT NULL);
        CREATE TABLE claims (k TEXT NOT NULL UNIQUE);";
    const REFUSALS: &'static str = "";
    const ENDS_IDLE: bool = false;

    async fn open(url: &str, connections: u32, _: bool) -> sqlx::Result<Pool<Self>> {
        Ok(Self::pool(url, connections).await)
    }

    async fn look_from(url: &str) -> sqlx::Result<Pool<Self>> {
        let options: SqliteConnectOptions = url.parse()?;
        SqlitePoolOptions::new()
            .max_connections(2)
            .connect_with(options.busy_timeout(Duration::from_millis(100)))
            .await
    }

    async fn sessions_busy(pool: &Pool<Self>) -> sqlx::Result<i64> {
        // There is one lock; whoever holds it is in a transaction that writes.
        match sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK")
            .execute(pool)
            .await
        {
            Ok(_) => Ok(0),
            Err(_) => Ok(1),
        }
    }

    async fn refuse(_: &Pool<Self>, key: &str, how: Refusal) -> sqlx::Result<()> {
        unreachable!("a claim of {key} is refused on SQLite: {how:?}")
    }

    in_its_words!(
        sqlite,
        "SELECT key, status, fence, result FROM idempotent_keys"
    );
}
