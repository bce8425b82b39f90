//! Opening a PostgreSQL database.

use sqlx::Postgres;
use sqlx::postgres::PgPoolOptions;

use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;
use crate::store::Store;

/// A store on PostgreSQL, 13 or later.
pub type PgStore = Store<Postgres>;

impl PgStore {
    /// Opens a database by its URL, `postgres://user@host/database`, with a pool of sqlx's default
    /// size, and installs the tables. For other settings, make the pool and pass it to
    /// [`Store::new`].
    ///
    /// # Errors
    ///
    /// [`Error::Database`] where the server cannot be reached, or refuses;
    /// [`Error::Unsupported`] for a read-only replica, or a server before PostgreSQL 13.
    pub async fn open(url: &str) -> Result<Self, Error> {
        let pool = PgPoolOptions::new()
            // Asking costs a round trip for each call; a connection that is gone is an error that
            // can be retried.
            .test_before_acquire(false)
            .connect(url)
            .await
            .map_err(|error| error.into_failed::<Postgres>("connecting to PostgreSQL"))?;
        let store = Self::new(pool);
        store.migrate().await?;
        Ok(store)
    }
}
