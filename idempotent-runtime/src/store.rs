//! A database that remembers which keys are done.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::{Pool, Transaction};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use crate::dialect::{Backend, Begin};
use crate::error::{Error, ShownKey};
use crate::gate::Gate;
use crate::held::StoreId;
use crate::key::Key;
use crate::ledger::failed::IntoFailed as _;
use crate::retry::retry_locked;
use crate::tx::Tx;
use crate::within::WithinTx;

/// The largest result that is stored, unless [`Store::result_limit`] says otherwise: 16 MiB.
pub const DEFAULT_RESULT_LIMIT: usize = 16 * 1024 * 1024;

/// How long a write waits for other writers of the database, beside `wait`.
pub(crate) const WRITER_WAIT: Duration = Duration::from_secs(5);

/// A pool of connections to the database that holds the ledger, and how to use it.
///
/// Cheap to clone: clones share the pool. A job takes it by value or by reference.
///
/// ```
/// # async fn example(pool: sqlx::SqlitePool) -> idempotent_runtime::Result<()> {
/// use idempotent_runtime::{SqliteStore, Store};
///
/// // A file of its own, made where it is missing, with the tables installed:
/// let store = SqliteStore::open("sqlite:shop.db").await?;
///
/// // Or the application's own pool:
/// let store = Store::new(pool);
/// store.migrate().await?;
/// # Ok(())
/// # }
/// ```
pub struct Store<DB: Backend> {
    pool: Pool<DB>,
    shared: Arc<Shared<DB>>,
    options: Options,
}

/// What the clones of a store share.
struct Shared<DB: Backend> {
    gate: Arc<Gate>,
    /// One writer of this process at a time, in turn, where the database takes one only: polling
    /// for its lock is a hundred times less fair.
    writer: Arc<Mutex<()>>,
    /// Heartbeats go out on a connection of their own, whatever the pool is busy with.
    heartbeats: OnceLock<Pool<DB>>,
    inspected: OnceCell<()>,
    /// Set where the lab has this store's process die: then nothing more is written down.
    #[cfg(feature = "testing")]
    crashed: std::sync::atomic::AtomicBool,
}

/// The right to write, held while a write transaction is open.
pub(crate) type Writer = Option<OwnedMutexGuard<()>>;

/// How a store is used; a copy goes with each call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) result_limit: usize,
    pub(crate) log_keys: bool,
    /// Each transaction may have another session of the server.
    pub(crate) pooled: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            result_limit: DEFAULT_RESULT_LIMIT,
            log_keys: true,
            pooled: false,
        }
    }
}

impl Options {
    /// A key as it may be shown.
    pub(crate) fn show(self, key: &Key) -> ShownKey {
        if self.log_keys {
            ShownKey::new(key.as_str())
        } else {
            ShownKey::hidden(key.as_str())
        }
    }
}

impl<DB: Backend> Store<DB> {
    /// A store on the application's own pool.
    ///
    /// Nothing is checked or changed yet: [`migrate`](Self::migrate) installs the tables, and the
    /// first call checks that they are there.
    #[must_use]
    pub fn new(pool: Pool<DB>) -> Self {
        Self {
            pool,
            shared: Arc::new(Shared {
                gate: Arc::default(),
                writer: Arc::default(),
                heartbeats: OnceLock::new(),
                inspected: OnceCell::new(),
                #[cfg(feature = "testing")]
                crashed: std::sync::atomic::AtomicBool::new(false),
            }),
            options: Options::default(),
        }
    }

    /// The largest encoded result to store, of a job or of a step, in bytes:
    /// [`DEFAULT_RESULT_LIMIT`] by default. A larger one is [`Error::ResultTooLarge`], and nothing of
    /// the job, or of the step, is committed.
    #[must_use]
    pub fn result_limit(mut self, bytes: usize) -> Self {
        self.options.result_limit = bytes;
        self
    }

    /// Whether logs and errors show keys as they are (the default), or as short digests.
    #[must_use]
    pub fn log_keys(mut self, shown: bool) -> Self {
        self.options.log_keys = shown;
        self
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn pooled(mut self, pooled: bool) -> Self {
        self.options.pooled = pooled;
        self
    }

    /// The pool.
    #[must_use]
    pub fn pool(&self) -> &Pool<DB> {
        &self.pool
    }

    /// Installs or upgrades the ledger's tables. Safe to call from many processes at once, and next
    /// to migrations of your own.
    ///
    /// # Errors
    ///
    /// [`Error::SchemaVersion`] where the tables are of a later version of this crate,
    /// [`Error::Unsupported`] where the database is set up in a way that cannot hold them, and
    /// [`Error::Database`].
    pub async fn migrate(&self) -> Result<(), Error> {
        if DB::DDL_COMMITS {
            let mut tx = self.connection().await?;
            // Closed if this is cut off: the lock against other migrations goes with it.
            tx.unsettle();
            DB::migrate(tx.on()).await?;
            tx.settle();
        } else {
            let (mut tx, _writer) = self.begin_write(Self::plain(), Instant::now()).await?;
            DB::migrate(tx.on()).await?;
            tx.commit()
                .await
                .map_err(|error| error.into_failed::<DB>("committing the ledger's tables"))?;
        }
        self.inspect().await
    }

    /// Begins a transaction that jobs can join, at the isolation that they need.
    ///
    /// # Errors
    ///
    /// [`Error::Database`] where no connection was to be had, or the database refused.
    pub async fn begin(&self) -> Result<Transaction<'static, DB>, Error> {
        let pool = self.pool.clone();
        // In a task of its own, for a begin that is cut would leave a transaction open in the pool;
        // one that nobody waits for any more ends, and is rolled back.
        tokio::spawn(async move { pool.begin_with(DB::begin_outer()).await }.in_current_span())
            .await
            .unwrap_or_else(|cut| Err(sqlx::Error::Io(std::io::Error::other(cut))))
            .map_err(|error| error.into_failed::<DB>("beginning a transaction"))
    }

    /// A transaction of the caller's to pass to a job, with this store's options.
    pub fn within<'a>(&self, tx: &'a mut DB::Connection) -> WithinTx<'a, DB> {
        WithinTx {
            conn: tx,
            options: self.options,
            store: Some(self.id()),
        }
    }

    /// Closes the pool, and the connection that heartbeats go out on. Jobs at work fail.
    pub async fn close(&self) {
        self.pool.close().await;
        if let Some(heartbeats) = self.shared.heartbeats.get() {
            heartbeats.close().await;
        }
    }

    /// From now on, an attempt that is dropped releases nothing: as if its process had been killed.
    #[cfg(feature = "testing")]
    pub(crate) fn crash(&self) {
        use std::sync::atomic::Ordering;
        self.shared.crashed.store(true, Ordering::Relaxed);
    }

    /// Whether the lab has this store's process die.
    #[cfg(feature = "testing")]
    pub(crate) fn has_crashed(&self) -> bool {
        use std::sync::atomic::Ordering;
        self.shared.crashed.load(Ordering::Relaxed)
    }

    /// Only the lab has processes die.
    #[cfg(not(feature = "testing"))]
    pub(crate) const fn has_crashed(&self) -> bool {
        false
    }

    fn plain() -> Begin {
        Begin { mark: false }
    }

    pub(crate) fn id(&self) -> StoreId {
        Arc::as_ptr(&self.shared).addr()
    }

    pub(crate) fn options(&self) -> Options {
        self.options
    }

    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.shared.gate
    }

    /// Checks the tables, once in the life of a store.
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        self.shared
            .inspected
            .get_or_try_init(|| self.inspect())
            .await
            .map(drop)
    }

    async fn inspect(&self) -> Result<(), Error> {
        let mut tx = self.connection().await?;
        DB::inspect(tx.on()).await
    }

    /// A connection to read through.
    pub(crate) async fn connection(&self) -> Result<Tx<'static, DB>, Error> {
        self.alone(&self.pool).await
    }

    /// A connection to renew leases on.
    pub(crate) async fn heartbeat_connection(&self) -> Result<Tx<'static, DB>, Error> {
        self.alone(self.heartbeats()).await
    }

    /// A connection for statements on their own: in no transaction, or, behind a pooler that would
    /// send the halves of a statement to different sessions, in one.
    async fn alone(&self, pool: &Pool<DB>) -> Result<Tx<'static, DB>, Error> {
        let mut tx = self.acquire(pool).await?;
        if self.options.pooled {
            tx.begin(Some(DB::begin(&Self::plain())))
                .await
                .map_err(|error| error.into_failed::<DB>("beginning a transaction"))?;
        }
        Ok(tx)
    }

    async fn acquire(&self, pool: &Pool<DB>) -> Result<Tx<'static, DB>, Error> {
        Tx::acquire(pool, self.options.pooled)
            .await
            .map_err(|error| error.into_failed::<DB>("waiting for a connection of the pool"))
    }

    /// The right to write, where the database takes one writer only.
    pub(crate) async fn writer(&self, deadline: Instant) -> Result<Writer, Error> {
        if !DB::ONE_WRITER {
            return Ok(None);
        }
        match timeout_at(deadline, Arc::clone(&self.shared.writer).lock_owned()).await {
            Ok(guard) => Ok(Some(guard)),
            Err(_) => Err(sqlx::Error::PoolTimedOut
                .into_failed::<DB>("waiting for other writers of this process")),
        }
    }

    /// A connection that may write by itself.
    pub(crate) async fn write_connection(
        &self,
        deadline: Instant,
    ) -> Result<(Tx<'static, DB>, Writer), Error> {
        let writer = self
            .writer(deadline.max(Instant::now() + WRITER_WAIT))
            .await?;
        Ok((self.connection().await?, writer))
    }

    /// Begins a transaction of ours on a connection of the pool.
    pub(crate) async fn begin_write(
        &self,
        how: Begin,
        deadline: Instant,
    ) -> Result<(Tx<'static, DB>, Writer), Error> {
        let deadline = deadline.max(Instant::now() + WRITER_WAIT);
        let writer = self.writer(deadline).await?;
        let mut tx = self.acquire(&self.pool).await?;
        retry_locked!(DB, deadline, tx.begin(Some(DB::begin(&how))))
            .map_err(|error| error.into_failed::<DB>("beginning a transaction"))?;
        Ok((tx, writer))
    }

    /// A pool of one connection, made like those of the store's own.
    fn heartbeats(&self) -> &Pool<DB> {
        self.shared.heartbeats.get_or_init(|| {
            self.pool
                .options()
                .clone()
                .min_connections(0)
                .max_connections(1)
                .idle_timeout(Duration::from_secs(60))
                .connect_lazy_with((*self.pool.connect_options()).clone())
        })
    }
}

impl<DB: Backend> Clone for Store<DB> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            shared: Arc::clone(&self.shared),
            options: self.options,
        }
    }
}

impl<DB: Backend> AsRef<Self> for Store<DB> {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl<DB: Backend> fmt::Debug for Store<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
