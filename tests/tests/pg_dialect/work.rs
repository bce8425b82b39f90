//! What the tests share: a world, errors, jobs.

use idempotent_runtime::{Error, PgStore, Postgres, idempotent};
use idempotent_tests::world::{TestDatabase, World};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgConnection, PgPool};
use tokio::sync::Semaphore;

pub type PgWorld = World<Postgres>;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Idempotent(#[from] Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("refused")]
    Refused,
}

impl Failure {
    pub fn runtime(&self) -> &Error {
        match self {
            Self::Idempotent(error) => error,
            other => panic!("not an error of the runtime: {other:?}"),
        }
    }
}

/// A store of its own on the world's database, as another process would have, with settings for its
/// sessions.
pub async fn store_with(world: &PgWorld, connections: u32, settings: &[(&str, &str)]) -> PgStore {
    let options: PgConnectOptions = world.url.parse().expect("a URL of ours");
    let options = options.options(settings.iter().copied());
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .connect_with(options)
        .await;
    PgStore::new(pool.expect("a pool"))
}

pub async fn text(pool: &PgPool, sql: &'static str) -> Option<String> {
    sqlx::query_scalar(sql).fetch_one(pool).await.expect(sql)
}

pub async fn leave(conn: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO effects (name) VALUES ($1)")
        .bind(name)
        .execute(conn)
        .await
        .map(drop)
}

/// Leaves an effect of its key's name.
#[idempotent(key = "plain_<n>")]
pub async fn plain(conn: &mut PgConnection, n: i64) -> Result<i64, Failure> {
    leave(conn, &format!("plain_{n}")).await?;
    Ok(n)
}

/// Waits for the test after its effect; fails where the test says so.
#[idempotent(key = "held_<n>", ignore(fail))]
pub async fn held(
    conn: &mut PgConnection,
    gate: &Semaphore,
    n: i64,
    fail: bool,
) -> Result<i64, Failure> {
    leave(conn, &format!("held_{n}")).await?;
    gate.acquire().await.expect("an open gate").forget();
    if fail { Err(Failure::Refused) } else { Ok(n) }
}

/// Sessions of the world's database in a transaction and idle, or waiting for a lock.
pub async fn stuck(world: &PgWorld) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
    )
    .fetch_one(world.store.pool())
    .await
    .expect("a count")
}

/// Waits until so many sessions wait for a lock.
pub async fn until_waiting(world: &PgWorld, sessions: i64) {
    idempotent_tests::world::eventually("sessions wait", || async {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND wait_event_type = 'Lock'",
        )
        .fetch_one(world.store.pool())
        .await
        .expect("a count");
        waiting >= sessions
    })
    .await;
}

pub async fn another(world: &PgWorld) -> PgStore {
    PgStore::new(Postgres::pool(&world.url, 1).await)
}
