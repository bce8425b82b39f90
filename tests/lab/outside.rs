//! The outside of the lab's worlds: it takes a moment, before and after each effect.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Charges once for each key, and without a key once for each request.
#[derive(Default)]
pub struct Gateway {
    charges: Mutex<Vec<String>>,
    keys: Mutex<BTreeSet<String>>,
}

impl Gateway {
    fn charges_now(&self) -> MutexGuard<'_, Vec<String>> {
        self.charges.lock().expect("no panic holds it")
    }

    pub async fn charge(&self, what: &str, key: Option<&str>) -> String {
        tokio::task::yield_now().await;
        let known =
            key.is_some_and(|key| !self.keys.lock().expect("a lock").insert(key.to_owned()));
        if !known {
            self.charges_now().push(what.to_owned());
        }
        tokio::task::yield_now().await;
        format!("receipt of {what}")
    }

    /// What was charged for, in order.
    pub fn charges(&self) -> Vec<String> {
        self.charges_now().clone()
    }
}

/// A queue that delivers one message again and again, each time under a number of its own.
#[derive(Default)]
pub struct Queue(AtomicUsize);

impl Queue {
    pub fn deliver(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// How a job fails.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// The business tables.
pub async fn schema(db: &sqlx::SqlitePool) -> sqlx::Result<()> {
    sqlx::raw_sql(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER NOT NULL, paid INTEGER NOT NULL
             DEFAULT 0, paid_at TEXT);
         CREATE TABLE payments (order_id INTEGER NOT NULL, receipt TEXT NOT NULL);
         CREATE TABLE invoices (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, month TEXT NOT NULL,
             UNIQUE (order_id, month));
         CREATE TABLE loose_invoices (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, month TEXT
             NOT NULL);
         CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL, welcomed INTEGER NOT NULL
             DEFAULT 0);
         CREATE TABLE signups (id INTEGER PRIMARY KEY, email TEXT NOT NULL, account_id INTEGER);
         CREATE TABLE accounts (id INTEGER PRIMARY KEY, signup_id INTEGER NOT NULL);
         INSERT INTO orders (id, total) VALUES (41, 100), (42, 4200);
         INSERT INTO users (id, email) VALUES (7, 'ann@example.com');
         INSERT INTO signups (id, email) VALUES (3, 'bob@example.com');",
    )
    .execute(db)
    .await
    .map(drop)
}
