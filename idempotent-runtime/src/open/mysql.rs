//! Opening a MySQL or MariaDB database.

use sqlx::mysql::MySqlPoolOptions;
use sqlx::{Executor as _, MySql};

use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;
use crate::store::Store;

/// A store on MariaDB 10.6 or MySQL 8, or later.
///
/// Tested on MariaDB 10.11. Written for MySQL 8 as well, and not run there. What differs there:
///
/// - MySQL has no statement that does not queue for a lock, or not for longer than it is told. A
///   duplicate in another process waits in the server's own queue, up to a second longer than `wait`;
///   then its connection is closed. In a transaction of the caller's, `innodb_lock_wait_timeout` is
///   what ends the wait.
/// - MySQL has no limit to how long a transaction stands still.
///
/// On both:
///
/// - The job's own tables have to be kept by InnoDB: what is written to a MyISAM table is not undone,
///   and nothing tells.
/// - Every statement that defines tables (`CREATE`, `ALTER`, `TRUNCATE`) commits by itself. In the body
///   of a job it is [`Error::TransactionEscaped`].
/// - The largest result is bounded by `max_allowed_packet`, 16 MiB by default on MariaDB:
///   [`Error::ResultTooLarge`].
/// - On MariaDB, which does not say of which table a violated index is, an index that `unique = …` means
///   needs a name that no other unique index of the database has (`UNIQUE KEY invoices_order_month
///   (…)`; without a name it is called after its first column, and every primary key is `PRIMARY`).
///   Where others have it too, the values decide if they can, and otherwise the job gets its own error.
/// - A job in a transaction of the caller's whose future is dropped half-way can leave that connection
///   waiting for an answer that never comes, as every statement of sqlx 0.9 can: close the connection.
///   (Jobs on a store close theirs.)
pub type MySqlStore = Store<MySql>;

impl MySqlStore {
    /// Opens a database by its URL, `mysql://user@host/database`, with a pool of sqlx's default size,
    /// and installs the tables. For other settings, make the pool and pass it to [`Store::new`].
    ///
    /// MariaDB ends a transaction of such a pool that stands still for a minute, so that a stopped
    /// process does not hold its key for ever. MySQL has no such limit.
    ///
    /// # Errors
    ///
    /// [`Error::Database`] where the server cannot be reached, or refuses; [`Error::Unsupported`]
    /// where the tables are not kept by InnoDB, or sessions do not commit by themselves.
    pub async fn open(url: &str) -> Result<Self, Error> {
        let pool = MySqlPoolOptions::new()
            // Asking costs a round trip for each call; a connection that is gone is an error that can
            // be retried.
            .test_before_acquire(false)
            .after_connect(|conn, _| {
                Box::pin(async move {
                    conn.execute(
                        "SET @idempotent_runtime = 0 /*M!100300 , SESSION idle_transaction_timeout = \
                         IF(@@SESSION.idle_transaction_timeout = 0, 60, \
                         @@SESSION.idle_transaction_timeout) */",
                    )
                    .await
                    .map(drop)
                })
            })
            .connect(url)
            .await
            .map_err(|error| error.into_failed::<MySql>("connecting to MySQL"))?;
        let store = Self::new(pool);
        store.migrate().await?;
        Ok(store)
    }
}
