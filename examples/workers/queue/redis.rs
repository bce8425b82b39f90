//! Redis: keys under a prefix of the queue's own.

use anyhow::{Context as _, Result};
use apalis_redis::{Config, ConnectionManager, RedisStorage};
use redis::AsyncCommands as _;
use serde::{Deserialize, Serialize};

use super::{BATCH, HEARTBEAT, MISSED_HEARTBEATS, Settled};
use crate::payload::{Kind, Payload};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The server, as the person gave it.
    pub url: String,
    /// What all keys begin with, as no other run's do.
    pub prefix: String,
}

#[derive(Clone)]
pub struct Redis {
    connection: ConnectionManager,
    prefix: String,
}

pub async fn connect(place: &Place) -> Result<Redis> {
    let connection = apalis_redis::connect(&*place.url)
        .await
        .context("cannot reach the Redis server")?;
    Ok(Redis {
        connection,
        prefix: place.prefix.clone(),
    })
}

/// Deletes the run's keys, and takes its queues out of apalis' list of them.
pub async fn remove(place: &Place) -> Result<()> {
    let Redis { mut connection, .. } = connect(place).await?;
    let keys: Vec<String> = connection.keys(format!("{}:*", place.prefix)).await?;
    if !keys.is_empty() {
        connection.del::<_, ()>(keys).await?;
    }
    for kind in Kind::ALL {
        let queue = config(&place.prefix, kind).workers_set();
        connection
            .zrem::<_, _, ()>("core:apalis:queues:list", queue)
            .await?;
    }
    Ok(())
}

pub fn storage<T: Payload>(redis: &Redis) -> RedisStorage<T> {
    RedisStorage::new(redis.connection.clone()).with_config(config(&redis.prefix, T::KIND))
}

pub async fn settled(redis: &Redis, kind: Kind) -> Result<Settled> {
    let mut connection = redis.connection.clone();
    let config = config(&redis.prefix, kind);
    Ok(Settled {
        done: connection.scard(config.done_jobs_set()).await?,
        dead: connection.scard(config.dead_jobs_set()).await?,
    })
}

fn config(prefix: &str, kind: Kind) -> Config {
    Config::default()
        .queue(format!("{prefix}:{}", kind.name()))
        .batch_size(BATCH)
        .heartbeat_interval(HEARTBEAT)
        .missed_heartbeats(MISSED_HEARTBEATS)
}
