//! What the session brings along.

use std::str::FromStr;

use idempotent_runtime::{Error, Job, MySqlStore, Store, idempotent};
use sqlx::Executor as _;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};

use super::setup::kept;
use super::words::{Failure, leave};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "kept_leased_<n>", lease = 3s, retain = 1s)]
async fn kept_leased(job: &mut Job<'_, Db>, n: i64) -> Result<i64, Failure> {
    leave(job.tx().await?, "kept").await?;
    Ok(n)
}

async fn with_session(world: &World<Db>, set: &'static str) -> MySqlStore {
    let pool = MySqlPoolOptions::new()
        .max_connections(4)
        .after_connect(move |conn, _| Box::pin(async move { conn.execute(set).await.map(drop) }))
        .connect(&world.url)
        .await
        .unwrap();
    Store::new(pool)
}

async fn sessions_that_do_not_commit_are_refused(world: World<Db>) {
    for set in ["SET autocommit = 0", "SET completion_type = 'CHAIN'"] {
        let error = kept(&with_session(&world, set).await, 1).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::Unsupported { .. }),
            "{set}: {error:?}"
        );
    }
    assert_eq!(world.effects("kept").await, 0);
}

/// 13: a session that takes no writes is refused, and not retried.
async fn a_session_that_takes_no_writes_is_refused(world: World<Db>) {
    let store = with_session(&world, "SET SESSION TRANSACTION READ ONLY").await;
    for error in [
        kept(&store, 1).await.unwrap_err(),
        kept_leased(&store, 1).await.unwrap_err(),
    ] {
        assert!(!error.runtime().is_retryable(), "{error:?}");
    }
    assert_eq!(world.effects("kept").await, 0);
    assert!(kept(&world.store, 1).await.unwrap().is_performed());
}

/// 10: time zones, SQL modes, isolation and character sets of the session change nothing.
async fn sessions_of_all_sorts_are_alike(world: World<Db>) {
    let sorts = [
        "SET time_zone = '+09:00'",
        "SET time_zone = '-12:00', timestamp = 1000000000",
        "SET sql_mode = 'ANSI_QUOTES,NO_ZERO_DATE,NO_ZERO_IN_DATE,STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY'",
        "SET sql_mode = ''",
        "SET sql_mode = 'ORACLE'",
        "SET sql_mode = 'ANSI,TRADITIONAL,NO_BACKSLASH_ESCAPES'",
        "SET NAMES latin1",
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin, sql_safe_updates = 1",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET lc_messages = 'de_DE'",
    ];
    for (n, set) in (1..).zip(sorts) {
        let store = with_session(&world, set).await;
        assert!(kept(&store, n).await.unwrap().is_performed(), "{set}");
        assert!(kept(&world.store, n).await.unwrap().is_replayed(), "{set}");
        assert!(
            kept_leased(&store, n).await.unwrap().is_performed(),
            "{set}"
        );
        assert!(
            kept_leased(&world.store, n).await.unwrap().is_replayed(),
            "{set}"
        );
        let off = world
            .number(
                "SELECT CAST(ABS(TIMESTAMPDIFF(SECOND, first_at, UTC_TIMESTAMP(6))) AS SIGNED) \
                 FROM idempotent_keys WHERE `key` = ?",
                &format!("kept_leased_{n}"),
            )
            .await;
        if !set.contains("timestamp =") {
            assert!(off < 20, "{set}: {off} s off");
        }
        store.purge().await.unwrap();
    }
}

/// Another encoding of the connection, by its options.
async fn a_latin1_connection_keeps_text_as_it_is(world: World<Db>) {
    let options = MySqlConnectOptions::from_str(&world.url)
        .unwrap()
        .charset("latin1")
        .timezone(None);
    let pool = MySqlPoolOptions::new().connect_with(options).await.unwrap();
    let store = Store::new(pool);
    #[idempotent(key = "text_<n>")]
    async fn text(conn: &mut Conn, n: i64) -> Result<String, Failure> {
        leave(conn, "kept").await?;
        Ok(format!("é 🦀 {n}"))
    }
    assert!(text(&store, 1).await.unwrap().is_performed());
    assert_eq!(text(&world.store, 1).await.unwrap().into_value(), "é 🦀 1");
}

idempotent_tests::tests!(
    sessions_that_do_not_commit_are_refused,
    a_session_that_takes_no_writes_is_refused,
    sessions_of_all_sorts_are_alike,
    a_latin1_connection_keeps_text_as_it_is,
);
