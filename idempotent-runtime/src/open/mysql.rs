//! Opening a MySQL or MariaDB database.

use sqlx::mysql::MySqlPoolOptions;
use sqlx::{Executor as _, MySql};

use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;
use crate::store::Store;

/// A store on MySQL 8 or MariaDB 10.6, or later.
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
