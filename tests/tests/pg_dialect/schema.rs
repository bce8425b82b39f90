//! Installing, and servers that cannot hold the ledger.

use std::path::Path;

use idempotent_runtime::{Error, POSTGRES_SCHEMA, PgStore, Postgres};
use idempotent_tests::world::TestDatabase;
use sqlx::AssertSqlSafe;
use sqlx::migrate::Migrator;

use crate::work::{PgWorld, plain, store_with, text};

const UNDO: &str = "DROP TABLE idempotent_keys, idempotent_steps, idempotent_meta";

async fn sixteen_processes_migrate_at_once_next_to_a_migrator_of_sqlx(world: PgWorld) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("1_shop.sql");
    std::fs::write(file, "CREATE TABLE shop (id bigint);").unwrap();
    for _ in 0..5 {
        world.run(UNDO).await;
        world
            .run("DROP TABLE IF EXISTS shop, _sqlx_migrations")
            .await;
        let mut tasks = Vec::new();
        for i in 0..16 {
            let (url, folder) = (world.url.clone(), folder.path().to_owned());
            tasks.push(tokio::spawn(async move {
                let pool = Postgres::pool(&url, 1).await;
                if i % 4 == 0 {
                    Migrator::new(Path::new(&folder))
                        .await
                        .unwrap()
                        .run(&pool)
                        .await
                        .unwrap();
                }
                PgStore::new(pool).migrate().await
            }));
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let versions = "SELECT string_agg(version::text, ',') FROM idempotent_meta";
        assert_eq!(
            text(world.store.pool(), versions).await.as_deref(),
            Some("1")
        );
    }
    plain(&world.store, 1).await.unwrap();
}

async fn missing_tables_and_later_ones_are_told_apart(world: PgWorld) {
    world.run(UNDO).await;
    let store = PgStore::new(Postgres::pool(&world.url, 1).await);
    let error = plain(&store, 1).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::SchemaMissing { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("POSTGRES_SCHEMA"), "{error}");
    sqlx::raw_sql(AssertSqlSafe(POSTGRES_SCHEMA))
        .execute(store.pool())
        .await
        .unwrap();
    sqlx::raw_sql(AssertSqlSafe(POSTGRES_SCHEMA))
        .execute(store.pool())
        .await
        .unwrap();
    plain(&store, 1).await.unwrap();
    store.migrate().await.unwrap();

    // Dropped under a store that has seen them.
    world.run(UNDO).await;
    let error = plain(&store, 1).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::SchemaMissing { .. }),
        "{error:?}"
    );
    store.migrate().await.unwrap();
    world.run("UPDATE idempotent_meta SET version = 2").await;
    let later = PgStore::new(Postgres::pool(&world.url, 1).await);
    for error in [
        plain(&later, 1).await.unwrap_err().runtime().to_string(),
        later.migrate().await.unwrap_err().to_string(),
    ] {
        assert!(error.contains("version 2"), "{error}");
    }
}

async fn a_session_that_takes_no_writes_is_refused(world: PgWorld) {
    let settings = [("default_transaction_read_only", "on")];
    let store = store_with(&world, 1, &settings).await;
    let error = plain(&store, 1).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::Unsupported { .. }),
        "{error:?}"
    );
    assert!(!error.runtime().is_retryable());
    let error = store.migrate().await.unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
}

async fn the_ledger_goes_where_the_search_path_says(world: PgWorld) {
    world.run("CREATE SCHEMA ledger").await;
    world.run(UNDO).await;
    let store = store_with(&world, 2, &[("search_path", "ledger,public")]).await;
    store.migrate().await.unwrap();
    plain(&store, 1).await.unwrap();
    let rows = "SELECT count(*)::text FROM ledger.idempotent_keys";
    assert_eq!(text(store.pool(), rows).await.as_deref(), Some("1"));
}

idempotent_tests::tests!(
    sixteen_processes_migrate_at_once_next_to_a_migrator_of_sqlx,
    missing_tables_and_later_ones_are_told_apart,
    a_session_that_takes_no_writes_is_refused,
    the_ledger_goes_where_the_search_path_says,
);
