//! Installing and checking.

use std::time::Duration;

use idempotent_runtime::{Error, Job, MYSQL_SCHEMA, MySqlStore, Store, idempotent};
use sqlx::AssertSqlSafe;
use tokio::task::JoinSet;

use super::words::{Failure, assert_clean, leave};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase as _, World};

#[idempotent(key = "kept_<n>")]
pub async fn kept(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
    leave(conn, "kept").await?;
    Ok(n)
}

async fn drop_tables(world: &World<Db>) {
    world
        .run("DROP TABLE IF EXISTS idempotent_keys, idempotent_steps, idempotent_meta")
        .await;
}

/// 16 stores on pools of their own, on an empty database, next to the user's own migrator.
async fn sixteen_migrate_at_once(world: World<Db>) {
    drop_tables(&world).await;
    let mut tasks = JoinSet::new();
    for n in 0..16 {
        let url = world.url.clone();
        tasks.spawn(async move {
            let pool = Db::pool(&url, 2).await;
            if n == 7 {
                let migrations =
                    std::env::temp_dir().join(format!("migrations_{}", std::process::id()));
                std::fs::create_dir_all(&migrations).unwrap();
                std::fs::write(migrations.join("1_own.sql"), "CREATE TABLE own (n int)").unwrap();
                let own = sqlx::migrate::Migrator::new(migrations).await.unwrap();
                own.run(&pool).await.unwrap();
            }
            let store = Store::new(pool);
            store.migrate().await.unwrap();
            store.migrate().await.unwrap();
            kept(&store, 1).await.unwrap().is_performed()
        });
    }
    let performed = tasks
        .join_all()
        .await
        .into_iter()
        .filter(|done| *done)
        .count();
    assert_eq!((performed, world.effects("kept").await), (1, 1));
    assert_eq!(
        world
            .number("SELECT count(*) FROM idempotent_meta WHERE 'x' = ?", "x")
            .await,
        1
    );
}

/// A migration that is dropped at any point holds no lock.
async fn a_migration_that_is_cut_off_holds_nothing(world: World<Db>) {
    for micros in (0..40).map(|n| n * 250) {
        drop_tables(&world).await;
        let cut = tokio::time::timeout(Duration::from_micros(micros), world.store.migrate()).await;
        drop(cut);
        tokio::time::timeout(Duration::from_secs(20), world.another(1).await.migrate())
            .await
            .expect("no lock is left")
            .unwrap();
    }
    assert_clean(&world.store).await;
}

async fn missing_tables_say_so(world: World<Db>) {
    drop_tables(&world).await;
    let store = world.another(2).await;
    let error = kept(&store, 1).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::SchemaMissing { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("MYSQL_SCHEMA"), "{error}");
    world.run(MYSQL_SCHEMA).await;
    assert!(kept(&store, 1).await.unwrap().is_performed());
    world.run("UPDATE idempotent_meta SET version = 9").await;
    let store = world.another(2).await;
    let error = kept(&store, 1).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::SchemaVersion { found: 9, .. }),
        "{error:?}"
    );
    assert!(matches!(
        store.migrate().await,
        Err(Error::SchemaVersion { found: 9, .. })
    ));
}

/// 26: a ledger that cannot undo is refused.
async fn other_engines_are_refused(world: World<Db>) {
    for (table, engine) in [("idempotent_keys", "MyISAM"), ("idempotent_steps", "Aria")] {
        let sql = AssertSqlSafe(format!("ALTER TABLE {table} ENGINE={engine}"));
        sqlx::raw_sql(sql)
            .execute(world.store.pool())
            .await
            .unwrap();
        let error = kept(&world.another(2).await, 1).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::Unsupported { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(engine), "{error}");
        let sql = AssertSqlSafe(format!("ALTER TABLE {table} ENGINE=InnoDB"));
        sqlx::raw_sql(sql)
            .execute(world.store.pool())
            .await
            .unwrap();
    }
    assert!(
        kept(&world.another(2).await, 1)
            .await
            .unwrap()
            .is_performed()
    );
}

#[idempotent(key = "large_<n>", ignore(bytes))]
async fn large(conn: &mut Conn, n: i64, bytes: usize) -> Result<String, Failure> {
    leave(conn, "large").await?;
    let _ = n;
    Ok("x".repeat(bytes))
}

#[idempotent(key = "large_leased_<n>", ignore(bytes))]
async fn large_leased(job: &mut Job<'_, Db>, n: i64, bytes: usize) -> Result<String, Failure> {
    leave(job.tx().await?, "large").await?;
    let _ = n;
    Ok("x".repeat(bytes))
}

#[idempotent(key = "large_step_<n>", ignore(bytes))]
async fn large_step(job: &mut Job<'_, Db>, n: i64, bytes: usize) -> Result<i64, Failure> {
    job.step("large", async |_| Ok::<_, Failure>("x".repeat(bytes)))
        .await??;
    Ok(n)
}

/// 22: what the server does not take is refused before it is sent, naming both sizes.
async fn what_is_too_large_for_a_packet_is_refused(world: World<Db>) {
    const LIMIT: usize = 6 * 1024 * 1024;
    // The setting is for sessions to come.
    world.run("SET GLOBAL max_allowed_packet = 6291456").await;
    let store = world.another(1).await;
    world.run("SET GLOBAL max_allowed_packet = 16777216").await;
    let fits = 5 * 1024 * 1024;
    assert!(large(&store, 1, fits).await.unwrap().is_performed());
    assert_eq!(
        large(&store, 1, fits).await.unwrap().into_value().len(),
        fits
    );
    assert!(large_leased(&store, 1, fits).await.unwrap().is_performed());
    let too_large = LIMIT + 1;
    for answer in [
        large(&store, 2, too_large).await.map(drop),
        large_leased(&store, 2, too_large).await.map(drop),
        large_step(&store, 2, too_large).await.map(drop),
    ] {
        let error = answer.expect_err("refused");
        assert!(
            matches!(error.runtime(), Error::ResultTooLarge { .. }),
            "{error:?}"
        );
        assert!(!error.runtime().is_retryable());
        assert!(error.to_string().contains("max_allowed_packet"), "{error}");
    }
    assert_eq!(world.effects("large").await, 2);
    assert!(large(&store, 2, 1).await.unwrap().is_performed());
    assert_clean(&store).await;
}

#[idempotent(key = "late_<n>", lease = 1s)]
async fn late(job: &mut Job<'_, Db>, n: i64) -> Result<i64, Failure> {
    leave(job.tx().await?, "late").await?;
    Ok(n)
}

/// The database reads its clock before a wait: a claim that was waited for is renewed at once.
async fn a_claim_that_waited_has_its_whole_lease(world: World<Db>) {
    world
        .run("CREATE TRIGGER wait BEFORE INSERT ON idempotent_keys FOR EACH ROW DO SLEEP(1.5)")
        .await;
    assert!(late(&world.store, 1).await.unwrap().is_performed());
    assert_eq!(world.effects("late").await, 1);
}

async fn opening_installs_the_tables(world: World<Db>) {
    drop_tables(&world).await;
    let store = MySqlStore::open(&world.url).await.unwrap();
    assert!(kept(&store, 1).await.unwrap().is_performed());
    let idle: i64 = sqlx::query_scalar("SELECT CAST(@@idle_transaction_timeout AS SIGNED)")
        .fetch_one(store.pool())
        .await
        .unwrap();
    assert_eq!(idle, 60);
    store.close().await;
}

idempotent_tests::tests!(
    sixteen_migrate_at_once,
    a_migration_that_is_cut_off_holds_nothing,
    missing_tables_say_so,
    other_engines_are_refused,
    what_is_too_large_for_a_packet_is_refused,
    a_claim_that_waited_has_its_whole_lease,
    opening_installs_the_tables,
);
