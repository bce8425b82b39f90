//! The business that the suite's jobs work for: tables, errors, guards, and the jobs that several
//! topics use.

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
#[derive(Debug, Default)]
pub struct Gateway {
    /// The keys of all requests, in order.
    pub requests: std::sync::Mutex<Vec<String>>,
    /// Taken from at each charge, where the test holds charges back.
    pub gate: Option<Semaphore>,
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
        if let Some(gate) = &self.gate {
            gate.acquire().await.expect("an open gate").forget();
        }
        Receipt {
            id: format!("r_{key}"),
            total: 1,
        }
    }

    pub fn requests(&self) -> usize {
        self.requests.lock().expect("a lock").len()
    }

    /// Charges that an honest gateway made: one a key.
    pub fn charges(&self) -> usize {
        let requests = self.requests.lock().expect("a lock");
        requests
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len()
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
