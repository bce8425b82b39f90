//! Opening a SQLite file of one's own.

use std::str::FromStr;
use std::time::Duration;

use sqlx::Sqlite;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;
use crate::store::Store;

/// A store on SQLite.
pub type SqliteStore = Store<Sqlite>;

impl SqliteStore {
    /// Opens a SQLite file as the ledger needs it (write-ahead log, foreign keys on, every commit
    /// on disk before it is answered), makes it where it is missing, and installs the tables.
    ///
    /// `url` is `sqlite:path`, or a path.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for a database in memory: each of its connections would have one of
    /// its own, and nothing would outlive the process; and for a file that may only be read.
    /// [`Error::Database`] where the file cannot be opened, or is not a database.
    pub async fn open(url: &str) -> Result<Self, Error> {
        let failed = |error: sqlx::Error| error.into_failed::<Sqlite>("opening the SQLite file");
        let url = if url.starts_with("sqlite:") {
            url.to_owned()
        } else {
            format!("sqlite:{url}")
        };
        if url.contains(":memory:") || url.contains("mode=memory") {
            return Err(Error::Unsupported {
                problem: "it is in memory, where nothing outlives the process: use a file (a \
                          temporary one in tests)"
                    .to_owned(),
            });
        }
        let options = SqliteConnectOptions::from_str(&url)
            .map_err(failed)?
            .create_if_missing(!url.contains("mode=ro"))
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(5));
        let pool = SqlitePoolOptions::new()
            // A connection to a file is there or it is not; asking costs more than finding out.
            .test_before_acquire(false)
            .connect_with(options)
            .await
            .map_err(failed)?;
        let store = Self::new(pool);
        store.migrate().await?;
        Ok(store)
    }
}
