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

    /// Whether the pool's connections go through a pooler that gives each *transaction* another
    /// session of the server, such as PgBouncer with `pool_mode = transaction`; not by default.
    ///
    /// Named prepared statements do not live there, and sqlx sends the halves of an unnamed one apart.
    /// With this, no statement of the store's has a name, and each is in a transaction, which costs
    /// round trips: leave it out where the pooler gives each client a session of its own.
    ///
    /// What the pooler cannot do for the store, it cannot do for a job's body either: say
    /// `.persistent(false)` on each query there (a body is in a transaction; what is read through
    /// [`Job::pool`](crate::Job::pool) needs one of its own). To join a transaction of the caller's,
    /// pass [`store.within(&mut tx)`](Store::within), which carries this option.
    ///
    /// ```
    /// # async fn example(pool: sqlx::PgPool) -> idempotent_runtime::Result<()> {
    /// use idempotent_runtime::PgStore;
    ///
    /// let store = PgStore::new(pool).transaction_pooling(true);
    /// store.migrate().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn transaction_pooling(self, pooled: bool) -> Self {
        self.pooled(pooled)
    }
}
