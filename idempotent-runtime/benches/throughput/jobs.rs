//! The jobs, with the attribute: once for each database, for their SQL differs in its placeholders.

use serde::{Deserialize, Serialize};

/// What a job gives: stored, and decoded again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) id: String,
    pub(crate) total: i64,
}

impl Receipt {
    pub(crate) fn of(order_id: i64) -> Self {
        Self {
            id: format!("receipt-{order_id}"),
            total: order_id * 100,
        }
    }
}

/// How a job fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

macro_rules! jobs {
    ($module:ident, $Db:ty, $Conn:ty, $exists:literal, $write:literal) => {
        pub(crate) mod $module {
            use idempotent_runtime::{Job, idempotent};

            use super::{Failed, Receipt};

            /// Whether the order's work is done.
            pub(crate) async fn done(conn: &mut $Conn, order_id: i64) -> sqlx::Result<bool> {
                sqlx::query_scalar($exists)
                    .bind(order_id)
                    .fetch_one(conn)
                    .await
            }

            /// The body's write.
            pub(crate) async fn write(conn: &mut $Conn, order_id: i64) -> sqlx::Result<()> {
                sqlx::query($write)
                    .bind(order_id)
                    .execute(conn)
                    .await
                    .map(drop)
            }

            /// Effects in the database only.
            #[idempotent(key = "order_<order_id>", guard = done)]
            pub(crate) async fn transactional(
                conn: &mut $Conn,
                order_id: i64,
            ) -> Result<Receipt, Failed> {
                write(conn, order_id).await?;
                Ok(Receipt::of(order_id))
            }

            /// The same behind a lease.
            #[idempotent(key = "leased_<order_id>", guard = done)]
            pub(crate) async fn leased(
                job: &mut Job<'_, $Db>,
                order_id: i64,
            ) -> Result<Receipt, Failed> {
                write(job.tx().await?, order_id).await?;
                Ok(Receipt::of(order_id))
            }
        }
    };
}

jobs!(
    sqlite,
    sqlx::Sqlite,
    sqlx::SqliteConnection,
    "SELECT EXISTS (SELECT 1 FROM orders_done WHERE order_id = ?)",
    "INSERT INTO orders_done (order_id) VALUES (?)"
);
jobs!(
    postgres,
    sqlx::Postgres,
    sqlx::PgConnection,
    "SELECT EXISTS (SELECT 1 FROM orders_done WHERE order_id = $1)",
    "INSERT INTO orders_done (order_id) VALUES ($1)"
);
jobs!(
    mysql,
    sqlx::MySql,
    sqlx::MySqlConnection,
    "SELECT EXISTS (SELECT 1 FROM orders_done WHERE order_id = ?)",
    "INSERT INTO orders_done (order_id) VALUES (?)"
);
