//! The shop's own database: orders, what was paid, and the points that were given.
//!
//! A file of its own: apalis sets `synchronous = OFF` on a connection of the pool
//! that its `setup` is given, and a ledger must not lose what it has committed.

use sqlx::{Executor as _, SqliteConnection, SqlitePool};

/// The tables, and orders 1 to `orders`.
pub async fn lay_out(pool: &SqlitePool, orders: &[i64], cents: i64) -> sqlx::Result<()> {
    let schema = sqlx::raw_sql(
        "CREATE TABLE orders (
           id INTEGER PRIMARY KEY,
           cents INTEGER NOT NULL,
           charge_id TEXT,
           awarded INTEGER NOT NULL DEFAULT FALSE
         ) STRICT;
         CREATE TABLE payments (order_id INTEGER NOT NULL, charge_id TEXT NOT NULL) STRICT;
         CREATE TABLE awards (order_id INTEGER NOT NULL, points INTEGER NOT NULL) STRICT;",
    );
    pool.execute(schema).await?;
    for order in orders {
        sqlx::query("INSERT INTO orders (id, cents) VALUES (?, ?)")
            .bind(order)
            .bind(cents)
            .execute(pool)
            .await?;
    }
    Ok(())
}

/// `None`: there is no such order.
pub async fn paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT charge_id IS NOT NULL FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

pub async fn mark_paid(
    conn: &mut SqliteConnection,
    order_id: i64,
    charge_id: &str,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO payments (order_id, charge_id) VALUES (?, ?)")
        .bind(order_id)
        .bind(charge_id)
        .execute(&mut *conn)
        .await?;
    sqlx::query("UPDATE orders SET charge_id = ? WHERE id = ?")
        .bind(charge_id)
        .bind(order_id)
        .execute(conn)
        .await
        .map(drop)
}

pub async fn awarded(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT awarded FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

pub async fn add_award(
    conn: &mut SqliteConnection,
    order_id: i64,
    points: i64,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO awards (order_id, points) VALUES (?, ?)")
        .bind(order_id)
        .bind(points)
        .execute(conn)
        .await
        .map(drop)
}

pub async fn mark_awarded(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<()> {
    sqlx::query("UPDATE orders SET awarded = TRUE WHERE id = ?")
        .bind(order_id)
        .execute(conn)
        .await
        .map(drop)
}

/// How many payments there are of each order.
pub async fn payments(pool: &SqlitePool) -> sqlx::Result<Vec<(i64, i64)>> {
    sqlx::query_as("SELECT order_id, count(*) FROM payments GROUP BY order_id")
        .fetch_all(pool)
        .await
}

/// How many awards there are of each order.
pub async fn awards(pool: &SqlitePool) -> sqlx::Result<Vec<(i64, i64)>> {
    sqlx::query_as("SELECT order_id, count(*) FROM awards GROUP BY order_id")
        .fetch_all(pool)
        .await
}
