//! The orders' table.

use std::path::Path;

use idempotent_runtime::SqliteStore;
use sqlx::{SqliteConnection, SqlitePool};

use crate::api::Receipt;

/// A fresh database with three orders.
pub async fn open(folder: &Path) -> anyhow::Result<SqliteStore> {
    let path = folder.join("checkout.db");
    let store = SqliteStore::open(&format!("sqlite:{}", path.display())).await?;
    sqlx::raw_sql(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL, charge TEXT);
         INSERT INTO orders (id, cents) VALUES (42, 4200), (43, 4300), (44, 4400);",
    )
    .execute(store.pool())
    .await?;
    Ok(store)
}

/// Whether an order is paid; `None` where there is none.
pub async fn paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT charge IS NOT NULL FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

/// The receipt of a paid order.
pub async fn receipt(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Receipt> {
    let charge = sqlx::query_scalar("SELECT charge FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_one(conn)
        .await?;
    Ok(Receipt {
        order: order_id,
        charge,
    })
}

/// What an order costs.
pub async fn total(pool: &SqlitePool, order_id: i64) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT cents FROM orders WHERE id = ?")
        .bind(order_id)
        .fetch_one(pool)
        .await
}

/// Marks an order as paid.
pub async fn mark_paid(
    conn: &mut SqliteConnection,
    order_id: i64,
    charge: &str,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE orders SET charge = ? WHERE id = ?")
        .bind(charge)
        .bind(order_id)
        .execute(conn)
        .await
        .map(drop)
}
