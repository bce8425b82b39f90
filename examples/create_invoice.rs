//! A job with effects in the database only, and a unique constraint that says
//! what "done" means: one invoice an order and month.
//!
//! Check-then-insert races; here the constraint is what checks, and breaking it
//! means that there is nothing left to do.

use idempotent_runtime::{SqliteStore, idempotent};
use sqlx::SqliteConnection;

#[idempotent(key = "invoice_<order_id>_<month>", unique = invoices(order_id, month))]
async fn create_invoice(
    conn: &mut SqliteConnection,
    order_id: i64,
    month: &str,
) -> anyhow::Result<i64> {
    let insert = "INSERT INTO invoices (order_id, month, total)
                  SELECT id, ?, total FROM orders WHERE id = ? RETURNING id";
    let invoice_id = sqlx::query_scalar(insert)
        .bind(month)
        .bind(order_id)
        .fetch_one(conn)
        .await?;
    Ok(invoice_id)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let store = SqliteStore::open(&format!("sqlite:{}/shop.db", dir.path().display())).await?;
    sqlx::raw_sql(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER NOT NULL);
         CREATE TABLE invoices (id INTEGER PRIMARY KEY, order_id INTEGER, month TEXT, total INTEGER,
                                UNIQUE (order_id, month));
         INSERT INTO orders VALUES (42, 9900), (43, 1200);
         INSERT INTO invoices VALUES (7, 43, '2026-01', 1200); -- made by hand",
    )
    .execute(store.pool())
    .await?;

    println!("42: {:?}", create_invoice(&store, 42, "2026-01").await?); // Performed(8)
    println!("42: {:?}", create_invoice(&store, 42, "2026-01").await?); // Replayed(8)
    println!("43: {:?}", create_invoice(&store, 43, "2026-01").await?); // Skipped(Unique { … })
    Ok(())
}
