//! The business that the suite's jobs work for: tables, errors, guards, and the jobs that several
//! topics use.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt as _;
use idempotent_runtime::{Job, idempotent};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::db::{Conn, Db, sql};

/// How a job of the suite fails.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("refused: {0}")]
    Refused(&'static str),
}

impl Failure {
    /// The runtime's own error.
    pub fn runtime(&self) -> &idempotent_runtime::Error {
        match self {
            Self::Idempotent(error) => error,
            other => panic!("not an error of the runtime: {other:?}"),
        }
    }
}

/// What a payment gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub id: String,
    pub total: i64,
}

impl Receipt {
    pub fn of(order_id: i64) -> Self {
        Self {
            id: format!("r_{order_id}"),
            total: order_id * 100,
        }
    }
}

/// Leaves an effect that can be counted.
pub async fn leave(conn: &mut Conn, name: &str) -> sqlx::Result<()> {
    sqlx::query(sql("INSERT INTO effects (name) VALUES (?)"))
        .bind(name)
        .execute(conn)
        .await
        .map(drop)
}

/// Whether an order is paid; `None` where there is no such order.
pub async fn paid(conn: &mut Conn, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar(sql("SELECT paid FROM orders WHERE id = ?"))
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

/// Marks an order as paid.
pub async fn mark_paid(conn: &mut Conn, order_id: i64) -> sqlx::Result<()> {
    sqlx::query(sql("UPDATE orders SET paid = TRUE WHERE id = ?"))
        .bind(order_id)
        .execute(conn)
        .await
        .map(drop)
}

/// Pays an order within the database, under a guard.
#[idempotent(key = "order_<order_id>", guard = paid)]
pub async fn pay(conn: &mut Conn, order_id: i64) -> Result<Receipt, Failure> {
    leave(&mut *conn, "pay").await?;
    mark_paid(&mut *conn, order_id).await?;
    Ok(Receipt::of(order_id))
}

/// Leaves an effect, and nothing else decides.
#[idempotent(key = "note_<name>")]
pub async fn note(conn: &mut Conn, name: &str) -> Result<String, Failure> {
    leave(conn, name).await?;
    Ok(format!("noted {name}"))
}

/// A payment gateway that honours keys: the outside world of one test.
#[derive(Debug)]
pub struct Gateway {
    /// The keys of all requests, in order.
    requests: Mutex<Vec<String>>,
    /// Given to at each charge.
    arrived: Semaphore,
    /// Taken from at each charge, where the test holds charges back.
    gate: Option<Semaphore>,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            requests: Mutex::default(),
            arrived: Semaphore::new(0),
            gate: None,
        }
    }
}

impl Gateway {
    /// One whose charges wait until the test adds permits.
    pub fn held() -> Self {
        Self {
            gate: Some(Semaphore::new(0)),
            ..Self::default()
        }
    }

    /// Charges, once for each key.
    pub async fn charge(&self, key: &str) -> Receipt {
        self.requests.lock().expect("a lock").push(key.to_owned());
        self.arrived.add_permits(1);
        if let Some(gate) = &self.gate {
            gate.acquire().await.expect("an open gate").forget();
        }
        Receipt {
            id: format!("r_{key}"),
            total: 1,
        }
    }

    /// Waits for the next request that no one has waited for.
    pub async fn arrived(&self) {
        let arrived = self.arrived.acquire();
        let arrived = tokio::time::timeout(Duration::from_secs(20), arrived).await;
        arrived.expect("a request").expect("an open gate").forget();
    }

    /// Lets held charges go.
    pub fn let_go(&self, charges: usize) {
        let gate = self.gate.as_ref().expect("a held gateway");
        gate.add_permits(charges);
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.requests.lock().expect("a lock").len()
    }

    /// The keys of all requests, in order.
    pub fn keys(&self) -> Vec<String> {
        self.requests.lock().expect("a lock").clone()
    }

    /// Charges that an honest gateway made: one a key.
    pub fn charges(&self) -> usize {
        let keys: BTreeSet<String> = self.keys().into_iter().collect();
        keys.len()
    }
}

/// Charges an order through the gateway, under a guard.
#[idempotent(key = "charge_<order_id>", guard = paid, lease = 30s)]
pub async fn charge(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<Receipt, Failure> {
    let receipt = gateway.charge(job.key().as_str()).await;
    let tx = job.tx().await?;
    leave(&mut *tx, "charge").await?;
    mark_paid(tx, order_id).await?;
    Ok(receipt)
}

/// The same without a guard, and without patience: a duplicate is turned away at once.
#[idempotent(key = "slow_<id>", lease = 30s, wait = 0s)]
pub async fn slow(job: &mut Job<'_, Db>, gateway: &Gateway, id: i64) -> Result<Receipt, Failure> {
    gateway.charge(job.key().as_str()).await;
    leave(job.tx().await?, "slow").await?;
    Ok(Receipt::of(id))
}

/// Runs a job that is to panic, and gives the panic's words.
pub async fn panic_of<T>(job: impl Future<Output = T>) -> String {
    let panic = AssertUnwindSafe(job).catch_unwind().await;
    let panic = panic.err().expect("a panic");
    match panic.downcast_ref::<&'static str>() {
        Some(words) => (*words).to_owned(),
        None => panic.downcast_ref::<String>().expect("words").clone(),
    }
}
