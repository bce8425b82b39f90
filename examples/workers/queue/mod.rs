//! The queue: where it is, and what the parent does with it.
//!
//! RabbitMQ is not among the places: apalis' backend for it (apalis-amqp) brings a TLS library that
//! is built from C. `docs/queues.md` has a consumer for it.

pub mod postgres;
pub mod redis;
pub mod sqlite;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, anyhow};
use apalis::prelude::TaskSink as _;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgConnectOptions;
use sqlx::{PgPool, SqlitePool};

use crate::payload::{Kind, Payload};

/// How often a worker says that it lives, and how often it may fail to: what a dead one had
/// fetched comes back after so long. Both are short here, so that a run need not wait long.
const HEARTBEAT: Duration = Duration::from_secs(1);
const MISSED_HEARTBEATS: usize = 3;
/// How many jobs a worker fetches at a time.
const BATCH: usize = 3;

/// Where the queue is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Queue {
    Sqlite(PathBuf),
    Postgres(postgres::Place),
    Redis(redis::Place),
}

/// A process's connection to it.
pub enum Connection {
    Sqlite(SqlitePool),
    Postgres(PgPool),
    Redis(redis::Redis),
}

/// Jobs that will not run again, however they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    pub done: u64,
    /// Given up.
    pub dead: u64,
}

impl Settled {
    pub fn all(self) -> u64 {
        self.done + self.dead
    }
}

impl Queue {
    /// Makes the queue.
    pub async fn make(&self) -> Result<()> {
        match self {
            Self::Sqlite(path) => sqlite::make(path).await,
            Self::Postgres(place) => postgres::make(place).await,
            Self::Redis(_) => Ok(()),
        }
    }

    pub async fn connect(&self) -> Result<Connection> {
        Ok(match self {
            Self::Sqlite(path) => Connection::Sqlite(sqlite::connect(path).await?),
            Self::Postgres(place) => Connection::Postgres(postgres::connect(place).await?),
            Self::Redis(place) => Connection::Redis(redis::connect(place).await?),
        })
    }

    /// Leaves nothing behind.
    pub async fn remove(&self) -> Result<()> {
        match self {
            // It goes with its folder.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(place) => postgres::remove(place).await,
            Self::Redis(place) => redis::remove(place).await,
        }
    }

    /// What the run would leave behind if even the parent were killed.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(place) => Some(&place.database),
            Self::Redis(place) => Some(&place.prefix),
        }
    }
}

impl Connection {
    /// Pushes each payload as a job of its own, whatever is there already.
    pub async fn push<T: Payload>(&self, payloads: Vec<T>) -> Result<()> {
        let pushed = match self {
            Self::Sqlite(pool) => {
                let pushed = sqlite::storage(pool).push_bulk(payloads).await;
                pushed.map_err(|error| error.to_string())
            }
            Self::Postgres(pool) => {
                let pushed = postgres::storage(pool).push_bulk(payloads).await;
                pushed.map_err(|error| error.to_string())
            }
            Self::Redis(redis) => {
                let pushed = redis::storage(redis).push_bulk(payloads).await;
                pushed.map_err(|error| error.to_string())
            }
        };
        pushed.map_err(|error| anyhow!("cannot push jobs: {error}"))
    }

    pub async fn settled(&self, kind: Kind) -> Result<Settled> {
        match self {
            Self::Sqlite(pool) => sqlite::settled(pool, kind).await,
            Self::Postgres(pool) => postgres::settled(pool, kind).await,
            Self::Redis(redis) => redis::settled(redis, kind).await,
        }
    }

    pub async fn close(self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
            Self::Redis(_) => {}
        }
    }
}

/// From a server's URL, with a fresh name for what is made there.
impl FromStr for Queue {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let fresh = || format!("workers_{:016x}", fastrand::u64(..));
        match url.split_once("://") {
            Some(("postgres" | "postgresql", _)) => {
                PgConnectOptions::from_str(url).map_err(|error| error.to_string())?;
                Ok(Self::Postgres(postgres::Place {
                    url: url.to_owned(),
                    database: fresh(),
                }))
            }
            Some(("redis", _)) => Ok(Self::Redis(redis::Place {
                url: url.to_owned(),
                prefix: fresh(),
            })),
            _ => Err(
                "expected postgres://… or redis://…; without it, the queue is in a SQLite \
                      file"
                    .to_owned(),
            ),
        }
    }
}
