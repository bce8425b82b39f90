//! The shop's database. Nothing outside of this folder speaks SQL.
//!
//! `statements` has what the jobs ask, once; `driver` what differs between the databases, which
//! `sqlite`, `postgres` and `mysql` fill in.

mod driver;
mod mysql;
mod place;
mod postgres;
mod seed;
mod sqlite;
mod statements;

use std::time::Duration;

use anyhow::{Context as _, Result};
use idempotent_runtime::Store;
use sqlx::Pool;

use crate::task::Task;

pub use driver::Driver;
pub use place::Place;
pub use statements::ShopDatabase;

/// Of one process.
const CONNECTIONS: u32 = 4;

/// What making or dropping a database may take.
const SERVER_PATIENCE: Duration = Duration::from_secs(30);

/// The shop's tables, and what is in them.
pub struct World<DB: ShopDatabase> {
    pool: Pool<DB>,
    naive: bool,
}

impl<DB: ShopDatabase> World<DB> {
    /// Installs the shop's tables and, for the annotated jobs, the ledger.
    pub async fn create(place: &DB::Place, naive: bool) -> Result<Self> {
        let pool = DB::connect(place).await?;
        DB::lay_out(&pool)
            .await
            .context("cannot lay out the shop's tables")?;
        if !naive {
            Store::new(pool.clone()).migrate().await?;
        }
        Ok(Self { pool, naive })
    }

    /// How often the task's effect is in the database.
    pub async fn effects(&self, task: &Task) -> Result<u64> {
        let (sql, id) = match *task {
            Task::SendWelcomeEmail { user_id } => (
                "SELECT count(*) FROM users WHERE id = ? AND welcome_email_sent",
                user_id,
            ),
            Task::ChargePayment { order_id } => {
                ("SELECT count(*) FROM payments WHERE order_id = ?", order_id)
            }
            Task::CreateInvoice { order_id, .. } if self.naive => (
                "SELECT count(*) FROM naive_invoices WHERE order_id = ?",
                order_id,
            ),
            Task::CreateInvoice { order_id, .. } => {
                ("SELECT count(*) FROM invoices WHERE order_id = ?", order_id)
            }
            Task::ProvisionAccount { signup_id } => (
                "SELECT count(*) FROM accounts WHERE signup_id = ?",
                signup_id,
            ),
        };
        let mut conn = self.pool.acquire().await?;
        let count: i64 = DB::one(&mut conn, sql, &[id.into()]).await?;
        Ok(count.try_into()?)
    }

    /// Where the user's mail goes; None if the user is gone.
    pub async fn address(&self, user_id: i64) -> Result<Option<String>> {
        match DB::email(&mut *self.pool.acquire().await?, user_id).await {
            Ok(address) => Ok(Some(address)),
            Err(sqlx::Error::RowNotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Counts the keys of the ledger, which the runtime tells the recorder.
    pub async fn count_keys(&self) -> Result<()> {
        Store::new(self.pool.clone()).stats().await?;
        Ok(())
    }

    /// Closes the connections; a file is then all in its one place.
    pub async fn close(self) {
        self.pool.close().await;
    }
}
