//! Both kinds of jobs, on each database, and everything that callers may pass.
//!
//! The jobs of the servers are compiled, and not run: the suites run on them.
#![deny(warnings)]

use idempotent_runtime::{MySql, MySqlStore, PgStore};
use idempotent_tests::ui::*;
use sqlx::{MySqlConnection, PgConnection};

#[idempotent(key = "on_sqlite_<order_id>")]
async fn on_sqlite(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "on_postgres_<order_id>", guard = pg_paid, unique = payments(order_id))]
async fn on_postgres(conn: &mut PgConnection, order_id: i64) -> Result<u32, Failure> {
    let total: i32 = sqlx::query_scalar("SELECT total FROM orders WHERE id = $1")
        .bind(order_id)
        .fetch_one(conn)
        .await?;
    Ok(total.try_into()?)
}

async fn pg_paid(conn: &mut PgConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT paid FROM orders WHERE id = $1")
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

#[idempotent(key = "on_mysql_<order_id>")]
async fn on_mysql(conn: &mut MySqlConnection, order_id: i64) -> Result<u32, Failure> {
    let total = sqlx::query_scalar("SELECT total FROM orders WHERE id = ?");
    Ok(total.bind(order_id).fetch_one(conn).await?)
}

#[idempotent(key = "leased_on_sqlite_<order_id>", guard = paid)]
async fn leased_on_sqlite(job: &mut Job<'_, Sqlite>, order_id: i64) -> Result<u32, Failure> {
    let total = gateway::charge(job.key(), order_id).await?;
    pay(job.tx().await?, order_id).await?;
    Ok(total)
}

#[idempotent(key = "leased_on_postgres_<order_id>", guard = pg_paid, lease = 30s)]
async fn leased_on_postgres(job: &mut Job<'_, Postgres>, order_id: i64) -> Result<u32, Failure> {
    gateway::charge(job.key(), order_id).await
}

#[idempotent(key = "leased_on_mysql_<order_id>")]
async fn leased_on_mysql(
    job: &mut idempotent_runtime::Job<'_, MySql>,
    order_id: i64,
) -> Result<u32, Failure> {
    gateway::charge(job.key(), order_id).await
}

async fn on_servers(pg: &PgStore, mysql: &MySqlStore) -> Result<(), Failure> {
    let _ = on_postgres(pg, 42).await?;
    let mut tx = pg.begin().await?;
    let _ = on_postgres(&mut tx, 42).await?;
    let _ = on_postgres(&mut *tx, 42).await?;
    let _ = leased_on_postgres(pg, 42).await?;
    let _ = on_mysql(mysql, 42).await?;
    let mut tx = mysql.begin().await?;
    let _ = on_mysql(mysql.within(&mut tx), 42).await?;
    let _ = leased_on_mysql(mysql.clone(), 42).await?;
    Ok(())
}

fn main() {
    let _ = on_servers;
    on_a_store(async |store| {
        assert!(on_sqlite(store, 42).await.unwrap().is_performed());
        assert!(on_sqlite(store.clone(), 42).await.unwrap().is_replayed());
        let mut tx = store.begin().await.unwrap();
        assert!(on_sqlite(&mut tx, 42).await.unwrap().is_replayed());
        assert!(on_sqlite(&mut *tx, 42).await.unwrap().is_replayed());
        assert!(on_sqlite(store.within(&mut tx), 42).await.unwrap().is_replayed());
        tx.commit().await.unwrap();
        let mut conn = store.pool().acquire().await.unwrap();
        assert!(on_sqlite(&mut *conn, 42).await.unwrap().is_replayed());
        drop(conn);
        assert!(leased_on_sqlite(store, 42).await.unwrap().is_performed());
        assert!(leased_on_sqlite(store.clone(), 42).await.unwrap().is_replayed());
    });
}
