//! Bodies that end the transaction that they were given, or go on in one that an error has ended.

use idempotent_runtime::{Error, Job, Postgres, Resolution, idempotent};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::work::{Failure, PgWorld, leave, stuck};

const ESCAPES: [&str; 7] = [
    "COMMIT",
    "ROLLBACK",
    "COMMIT; BEGIN",
    "ROLLBACK; BEGIN",
    "COMMIT AND CHAIN",
    "COMMIT; INSERT INTO effects (name) VALUES ('after')",
    "ROLLBACK; BEGIN; INSERT INTO effects (name) VALUES ('after')",
];

async fn run(conn: &mut PgConnection, sql: &str, fail: bool) -> Result<(), Failure> {
    leave(&mut *conn, "before").await?;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut *conn)
        .await?;
    if fail { Err(Failure::Refused) } else { Ok(()) }
}

#[idempotent(key = "escape_<n>", ignore(sql, fail))]
async fn escape(conn: &mut PgConnection, n: usize, sql: &str, fail: bool) -> Result<(), Failure> {
    run(conn, sql, fail).await
}

#[idempotent(key = "marked_<n>", ignore(sql, fail), unique = "accounts_email")]
async fn escape_marked(
    conn: &mut PgConnection,
    n: usize,
    sql: &str,
    fail: bool,
) -> Result<(), Failure> {
    run(conn, sql, fail).await
}

#[idempotent(key = "leased_<n>", ignore(sql, fail))]
async fn escape_leased(
    job: &mut Job<'_, Postgres>,
    n: usize,
    sql: &str,
    fail: bool,
) -> Result<(), Failure> {
    run(job.tx().await?, sql, fail).await
}

#[idempotent(key = "step_<n>", ignore(sql, fail))]
async fn escape_step(
    job: &mut Job<'_, Postgres>,
    n: usize,
    sql: &str,
    fail: bool,
) -> Result<(), Failure> {
    job.tx_step("write", async |conn| run(conn, sql, fail).await)
        .await?
}

/// What became of a job that escaped, and of its key.
async fn is_in_doubt(world: &PgWorld, key: &str, error: Failure, failed: bool) {
    match &error {
        Failure::Refused => assert!(failed, "{key}"),
        error => assert!(
            matches!(error.runtime(), Error::TransactionEscaped { .. }),
            "{key}: {error:?}"
        ),
    }
    let status = world
        .number(
            "SELECT coalesce(max(status), -1)::bigint FROM idempotent_keys WHERE key = ?",
            key,
        )
        .await;
    assert_eq!(status, 2, "{key}");
}

async fn an_escape_is_seen_and_leaves_the_key_in_doubt(world: PgWorld) {
    let store = &world.store;
    for (i, sql) in ESCAPES.into_iter().enumerate() {
        for fail in [false, true] {
            let n = 2 * i + usize::from(fail);
            let error = escape(store, n, sql, fail).await.unwrap_err();
            is_in_doubt(&world, &format!("escape_{n}"), error, fail).await;
            let error = escape(store, n, "SELECT 1", false).await.unwrap_err();
            assert!(
                matches!(error.runtime(), Error::InDoubt { .. }),
                "{error:?}"
            );

            let error = escape_marked(store, n, sql, fail).await.unwrap_err();
            is_in_doubt(&world, &format!("marked_{n}"), error, fail).await;
            let error = escape_leased(store, n, sql, fail).await.unwrap_err();
            is_in_doubt(&world, &format!("leased_{n}"), error, fail).await;
            let error = escape_step(store, n, sql, fail).await.unwrap_err();
            is_in_doubt(&world, &format!("step_{n}"), error, fail).await;
        }
    }
    idempotent_tests::world::eventually("no transaction is left", || async {
        stuck(&world).await == 0
    })
    .await;
    store
        .resolve("escape_0", Resolution::RUN_AGAIN)
        .await
        .unwrap();
    assert!(
        escape(store, 0, "SELECT 1", false)
            .await
            .unwrap()
            .is_performed()
    );
}

/// On a connection of the caller's there is nobody to close it.
async fn an_escape_on_a_bare_connection_is_seen_too(world: PgWorld) {
    for (n, sql) in ESCAPES.into_iter().enumerate() {
        let mut conn = world.store.pool().acquire().await.unwrap();
        let error = escape(&mut *conn, n, sql, false).await.unwrap_err();
        is_in_doubt(&world, &format!("escape_{n}"), error, false).await;
    }
}

async fn an_escape_from_a_joined_job_loses_the_outer_transaction(world: PgWorld) {
    for (n, sql) in ESCAPES.into_iter().enumerate() {
        let mut tx = world.store.begin().await.unwrap();
        leave(&mut tx, &format!("outer_{n}")).await.unwrap();
        let error = escape(&mut tx, n, sql, false).await.unwrap_err();
        let error = error.runtime();
        assert!(matches!(error, Error::OuterLost { .. }), "{sql}: {error:?}");
        assert!(!error.is_retryable());
        // Whoever goes on all the same commits nothing without an error.
        let more = leave(&mut tx, &format!("more_{n}")).await;
        let end = tx.commit().await;
        assert!(
            more.is_err() || end.is_err() || world.effects(&format!("more_{n}")).await == 1,
            "{sql}"
        );
    }
    idempotent_tests::world::eventually("no transaction is left", || async {
        stuck(&world).await == 0
    })
    .await;
}

/// PostgreSQL answers COMMIT in an aborted transaction with success, and keeps nothing.
async fn a_swallowed_error_is_never_done(world: PgWorld) {
    #[idempotent(key = "swallow_<n>", ignore(bad))]
    async fn swallow(conn: &mut PgConnection, n: i64, bad: bool) -> Result<(), Failure> {
        leave(&mut *conn, "swallow").await?;
        if bad {
            let _ = sqlx::query("SELECT 1 / 0").execute(&mut *conn).await;
        }
        Ok(())
    }

    #[idempotent(key = "swallow_leased_<n>", ignore(bad))]
    async fn swallow_leased(job: &mut Job<'_, Postgres>, n: i64, bad: bool) -> Result<(), Failure> {
        let conn = job.tx().await?;
        leave(&mut *conn, "leased").await?;
        if bad {
            let _ = sqlx::query("SELECT 1 / 0").execute(&mut *conn).await;
        }
        Ok(())
    }

    let store = &world.store;
    let error = swallow(store, 1, true).await.unwrap_err();
    assert!(
        matches!(
            error.runtime(),
            Error::Database {
                retryable: false,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        (
            world.rows("swallow_1").await,
            world.effects("swallow").await
        ),
        (0, 0)
    );
    assert!(swallow(store, 1, false).await.unwrap().is_performed());

    let error = swallow_leased(store, 1, true).await.unwrap_err();
    assert!(
        matches!(
            error.runtime(),
            Error::Database {
                retryable: false,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(world.effects("leased").await, 0);
    assert!(
        swallow_leased(store, 1, false)
            .await
            .unwrap()
            .is_performed()
    );

    // Joined: only the job's savepoint is lost.
    let mut tx = store.begin().await.unwrap();
    leave(&mut tx, "outer").await.unwrap();
    swallow(&mut tx, 2, true).await.unwrap_err();
    assert!(swallow(&mut tx, 3, false).await.unwrap().is_performed());
    tx.commit().await.unwrap();
    assert_eq!(
        (world.effects("outer").await, world.effects("swallow").await),
        (1, 2)
    );
    assert_eq!(
        (world.rows("swallow_2").await, world.rows("swallow_3").await),
        (0, 1)
    );
}

/// A body whose statement fails has not escaped: the transaction's number says so after its end.
async fn a_failing_statement_is_not_an_escape(world: PgWorld) {
    let bad = "SELECT 1 / 0";
    for _ in 0..2 {
        let error = escape(&world.store, 1, bad, false).await.unwrap_err();
        assert!(matches!(error, Failure::Database(_)), "{error:?}");
        escape_marked(&world.store, 1, bad, false)
            .await
            .unwrap_err();
        escape_leased(&world.store, 1, bad, false)
            .await
            .unwrap_err();
        escape_step(&world.store, 1, bad, false).await.unwrap_err();
    }
    assert_eq!(
        (world.rows("escape_1").await, world.rows("marked_1").await),
        (0, 0)
    );
    assert_eq!(world.effects("before").await, 0);
    for outcome in [
        escape(&world.store, 1, "SELECT 1", false).await,
        escape_leased(&world.store, 1, "SELECT 1", false).await,
    ] {
        assert!(outcome.unwrap().is_performed());
    }
    let outcome = escape_marked(&world.store, 1, "SELECT 1", false).await;
    assert!(outcome.unwrap().is_performed());
    // … and an escape in front of one is.
    let sql = "COMMIT; BEGIN; SELECT 1 / 0";
    escape(&world.store, 2, sql, false).await.unwrap_err();
    let error = escape(&world.store, 2, "SELECT 1", false)
        .await
        .unwrap_err();
    assert!(
        matches!(error.runtime(), Error::InDoubt { .. }),
        "{error:?}"
    );
}

idempotent_tests::tests!(
    an_escape_is_seen_and_leaves_the_key_in_doubt,
    an_escape_on_a_bare_connection_is_seen_too,
    an_escape_from_a_joined_job_loses_the_outer_transaction,
    a_swallowed_error_is_never_done,
    a_failing_statement_is_not_an_escape,
);
