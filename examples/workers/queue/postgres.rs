//! PostgreSQL: a database of the queue's own on a server.

use anyhow::{Context as _, Result};
use apalis_postgres::{Config, PostgresStorage};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};

use super::{BATCH, HEARTBEAT, MISSED_HEARTBEATS, Settled};
use crate::payload::{Kind, Payload};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The server, as the person gave it.
    pub url: String,
    /// A name that no other run has, of letters, digits and `_`: it stands in SQL as it is.
    pub database: String,
}

pub async fn make(place: &Place) -> Result<()> {
    on_the_server(place, format!("CREATE DATABASE {}", place.database))
        .await
        .context("cannot make a database on the PostgreSQL server")?;
    let pool = connect(place).await?;
    PostgresStorage::setup(&pool)
        .await
        .context("cannot lay out the queue")?;
    pool.close().await;
    Ok(())
}

pub async fn connect(place: &Place) -> Result<PgPool> {
    let options: PgConnectOptions = place.url.parse()?;
    PgPoolOptions::new()
        .max_connections(2)
        .connect_with(options.database(&place.database))
        .await
        .with_context(|| format!("cannot open {} on the PostgreSQL server", place.database))
}

pub async fn remove(place: &Place) -> Result<()> {
    // By force: the server may not have noticed yet that a killed worker is gone.
    let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", place.database);
    let name = &place.database;
    on_the_server(place, sql)
        .await
        .with_context(|| format!("database {name} is left on the PostgreSQL server"))
}

pub fn storage<T: Payload>(pool: &PgPool) -> PostgresStorage<T> {
    PostgresStorage::new(pool).with_config(
        Config::default()
            .queue(T::KIND.name())
            .batch_size(BATCH)
            .heartbeat_interval(HEARTBEAT)
            .missed_heartbeats(MISSED_HEARTBEATS),
    )
}

pub async fn settled(pool: &PgPool, kind: Kind) -> Result<Settled> {
    let (done, dead): (i64, i64) = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE status = 'Done'),
                count(*) FILTER (WHERE status = 'Killed'
                                 OR (status = 'Failed' AND attempts >= max_attempts))
         FROM apalis.jobs WHERE job_type = $1",
    )
    .bind(kind.name())
    .fetch_one(pool)
    .await?;
    Ok(Settled {
        done: done.try_into()?,
        dead: dead.try_into()?,
    })
}

/// Runs a statement in the database that the person named.
async fn on_the_server(place: &Place, sql: String) -> Result<()> {
    let mut conn = PgConnection::connect(&place.url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
    conn.close().await?;
    Ok(())
}
