//! The shop's database. Nothing outside of this folder speaks SQL.

mod seed;
pub mod tables;

use std::path::Path;

use anyhow::{Context as _, Result};
use idempotent_runtime::SqliteStore;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

use crate::task::Task;

/// Opens the file, making it if it is not there.
pub async fn connect(path: &Path) -> Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    SqlitePoolOptions::new()
        .max_connections(4)
        .connect_with(options)
        .await
        .with_context(|| format!("cannot open {}", path.display()))
}

/// The shop's tables, and what is in them.
pub struct World {
    pool: SqlitePool,
    naive: bool,
}

impl World {
    /// Installs the shop's tables and, for the annotated jobs, the ledger.
    pub async fn create(path: &Path, naive: bool) -> Result<Self> {
        let pool = connect(path).await?;
        sqlx::raw_sql(include_str!("schema.sql"))
            .execute(&pool)
            .await
            .with_context(|| format!("cannot lay out {}", path.display()))?;
        if !naive {
            SqliteStore::new(pool.clone()).migrate().await?;
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
        let count: i64 = sqlx::query_scalar(sql)
            .bind(id)
            .fetch_one(&self.pool)
            .await?;
        Ok(count.try_into()?)
    }

    /// Where the user's mail goes; None if the user is gone.
    pub async fn address(&self, user_id: i64) -> Result<Option<String>> {
        match tables::email(&self.pool, user_id).await {
            Ok(address) => Ok(Some(address)),
            Err(sqlx::Error::RowNotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Closes the file, with all of it in its one place.
    pub async fn close(self) {
        self.pool.close().await;
    }
}
