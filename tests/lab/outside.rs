//! The outside of the lab's worlds: it takes a moment, before and after each effect.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use sqlx::{AssertSqlSafe, Pool};

use crate::db::Db;

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

/// The business tables, and what is in them.
const TABLES: [(&str, &str); 8] = [
    (
        "orders",
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, total BIGINT NOT NULL, paid BOOLEAN NOT NULL DEFAULT
             FALSE, paid_at VARCHAR(40));
         INSERT INTO orders (id, total) VALUES (41, 100), (42, 4200)",
    ),
    (
        "payments",
        "CREATE TABLE payments (order_id BIGINT NOT NULL, receipt VARCHAR(80) NOT NULL)",
    ),
    (
        "stock",
        "CREATE TABLE stock (pieces BIGINT NOT NULL); INSERT INTO stock VALUES (10)",
    ),
    (
        "invoices",
        "CREATE TABLE invoices (id SERIAL, order_id BIGINT NOT NULL, month VARCHAR(20) NOT NULL,
             UNIQUE (order_id, month))",
    ),
    (
        "loose_invoices",
        "CREATE TABLE loose_invoices (id SERIAL, order_id BIGINT NOT NULL, month VARCHAR(20) NOT NULL)",
    ),
    (
        "users",
        "CREATE TABLE users (id BIGINT PRIMARY KEY, email VARCHAR(80) NOT NULL, welcomed BOOLEAN NOT NULL
             DEFAULT FALSE);
         INSERT INTO users (id, email) VALUES (7, 'ann@example.com')",
    ),
    (
        "accounts",
        "CREATE TABLE accounts (id SERIAL, signup_id BIGINT NOT NULL)",
    ),
    (
        "signups",
        "CREATE TABLE signups (id BIGINT PRIMARY KEY, email VARCHAR(80) NOT NULL, account_id BIGINT,
             FOREIGN KEY (account_id) REFERENCES accounts (id));
         INSERT INTO signups (id, email) VALUES (3, 'bob@example.com')",
    ),
];

/// Makes those that a job works on: a server takes its time for each, and the lab makes hundreds of
/// worlds.
pub async fn schema(db: &Pool<Db>, tables: &[&str]) -> sqlx::Result<()> {
    for name in tables {
        let (_, sql) = TABLES
            .iter()
            .find(|(table, _)| table == name)
            .expect("a table of the business");
        let sql = AssertSqlSafe(sql.replace("SERIAL", crate::SERIAL));
        sqlx::raw_sql(sql).execute(db).await?;
    }
    Ok(())
}

/// A text that is another one each time.
pub fn now() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("moment {}", NEXT.fetch_add(1, Ordering::Relaxed))
}
