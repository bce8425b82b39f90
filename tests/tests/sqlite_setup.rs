//! What only SQLite can be set up wrong in: each is a clear error, and nothing is half-written.

use idempotent_runtime::{Error, Job, Resolution, Sqlite, SqliteStore, Store, idempotent};
use sqlx::SqliteConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

#[idempotent(key = "fill_<n>")]
async fn fill(conn: &mut SqliteConnection, n: i64) -> anyhow::Result<()> {
    sqlx::query("INSERT INTO filler VALUES (randomblob(100000))")
        .execute(conn)
        .await?;
    Ok(())
}

#[idempotent(key = "fill_leased_<n>")]
async fn fill_leased(job: &mut Job<'_, Sqlite>, n: i64) -> Result<i64, Error> {
    let _ = job.key();
    Ok(n)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// 12: a folder that is not there, and a file that is no database.
#[tokio::test]
async fn what_cannot_be_opened_is_told_at_open() {
    let folder = folder();
    let missing = folder.path().join("none/shop.db");
    let error = SqliteStore::open(missing.to_str().unwrap())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Database { .. }), "{error:?}");

    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "not a database, but a text that is long enough to be looked at".repeat(9),
    )
    .unwrap();
    let error = SqliteStore::open(text.to_str().unwrap()).await.unwrap_err();
    assert!(!error.is_retryable(), "{error:?}");
}

/// 12: a file that may not be written. (Whoever is root may write every file: SQLite is told so.)
#[tokio::test]
async fn a_file_that_is_read_only_takes_no_job() {
    let folder = folder();
    let path = folder.path().join("kept.db");
    let store = SqliteStore::open(path.to_str().unwrap()).await.unwrap();
    sqlx::raw_sql("CREATE TABLE filler (bytes BLOB)")
        .execute(store.pool())
        .await
        .unwrap();
    assert!(fill(&store, 1).await.unwrap().is_performed());
    let options = SqliteConnectOptions::new().filename(&path).read_only(true);
    let pool = SqlitePoolOptions::new()
        .connect_with(options)
        .await
        .unwrap();
    let reader = Store::new(pool);
    // A transactional body's own write is the first one.
    let error = fill(&reader, 2).await.unwrap_err();
    assert!(error.to_string().contains("readonly database"), "{error:?}");
    let error = fill_leased(&reader, 2).await.unwrap_err();
    assert!(matches!(error, Error::Database { .. }), "{error:?}");
    assert!(!error.is_retryable(), "{error:?}");
    let url = format!("sqlite:{}?mode=ro", path.display());
    for error in [
        SqliteStore::open(&url).await.unwrap_err(),
        reader.migrate().await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
        assert!(error.to_string().contains("read-only"), "{error}");
    }
    // Whoever may write it finds nothing of that.
    let left = "SELECT (SELECT count(*) FROM filler) + (SELECT count(*) FROM idempotent_keys)";
    let left: i64 = sqlx::query_scalar(left)
        .fetch_one(store.pool())
        .await
        .unwrap();
    assert_eq!(left, 2);
    assert!(fill(&store, 2).await.unwrap().is_performed());
}

/// 36: a database in memory, by either spelling.
#[tokio::test]
async fn memory_is_refused() {
    for url in ["sqlite::memory:", "sqlite:file:x?mode=memory"] {
        let error = SqliteStore::open(url).await.unwrap_err();
        assert!(
            matches!(error, Error::Unsupported { .. }),
            "{url}: {error:?}"
        );
    }
}

/// 36: a pool of several connections would have as many databases in memory.
#[tokio::test]
async fn a_pool_of_databases_in_memory_is_refused() {
    let pool = SqlitePoolOptions::new()
        .max_connections(4)
        .connect("sqlite::memory:")
        .await
        .unwrap();
    let store = Store::new(pool);
    for error in [
        store.migrate().await.unwrap_err(),
        fill(&store, 1).await.unwrap_err().downcast().unwrap(),
    ] {
        assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
        assert!(!error.is_retryable());
    }
}

/// 30: tables of a later version are told from missing ones, and left alone.
#[tokio::test]
async fn tables_of_a_later_version_are_refused() {
    let folder = folder();
    let path = folder.path().join("later.db");
    let store = SqliteStore::open(path.to_str().unwrap()).await.unwrap();
    sqlx::raw_sql("UPDATE idempotent_meta SET version = 9")
        .execute(store.pool())
        .await
        .unwrap();
    let error = SqliteStore::open(path.to_str().unwrap()).await.unwrap_err();
    assert!(
        matches!(error, Error::SchemaVersion { found: 9, .. }),
        "{error:?}"
    );
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new()
        .connect_with(options)
        .await
        .unwrap();
    let error = fill(&Store::new(pool), 1).await.unwrap_err();
    let error = error.downcast_ref::<Error>().unwrap();
    assert!(
        matches!(error, Error::SchemaVersion { found: 9, .. }),
        "{error:?}"
    );
}

/// 30: a pool on a file without the tables, and one that is not in write-ahead mode.
#[tokio::test]
async fn a_pool_is_checked_at_the_first_call() {
    let folder = folder();
    let wal = SqliteConnectOptions::new()
        .filename(folder.path().join("wal.db"))
        .create_if_missing(true)
        .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new().connect_with(wal).await.unwrap();
    let error = fill(&Store::new(pool), 1).await.unwrap_err();
    let error = error.downcast_ref::<Error>().unwrap();
    assert!(matches!(error, Error::SchemaMissing { .. }), "{error:?}");
    assert!(error.to_string().contains("store.migrate()"), "{error}");

    let rollback = SqliteConnectOptions::new()
        .filename(folder.path().join("rollback.db"))
        .create_if_missing(true);
    let pool = SqlitePoolOptions::new()
        .connect_with(rollback)
        .await
        .unwrap();
    let error = Store::new(pool).migrate().await.unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
}

/// 12: a full disk undoes the job. SQLite then ends the transaction by itself, which cannot be told
/// from a body that did: the key is in doubt, and runs again when somebody says so.
#[tokio::test]
async fn a_full_disk_leaves_nothing_half_written() {
    let folder = folder();
    let path = folder.path().join("full.db");
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(
            SqliteConnectOptions::new()
                .filename(&path)
                .create_if_missing(true)
                .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal),
        )
        .await
        .unwrap();
    let store = Store::new(pool);
    store.migrate().await.unwrap();
    sqlx::raw_sql("CREATE TABLE filler (bytes BLOB); PRAGMA max_page_count = 20")
        .execute(store.pool())
        .await
        .unwrap();
    fill(&store, 1).await.unwrap_err();

    // Another connection has no such limit.
    let roomy = SqliteStore::open(path.to_str().unwrap()).await.unwrap();
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM filler")
        .fetch_one(roomy.pool())
        .await
        .unwrap();
    assert_eq!(left, 0);
    let error = fill(&roomy, 1).await.unwrap_err();
    let error = error.downcast_ref::<Error>().unwrap();
    assert!(matches!(error, Error::InDoubt { .. }), "{error:?}");
    roomy
        .resolve("fill_1", Resolution::RUN_AGAIN)
        .await
        .unwrap();
    assert!(fill(&roomy, 1).await.unwrap().is_performed());
}
