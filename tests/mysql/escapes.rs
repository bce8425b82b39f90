//! Bodies that end the transaction that they were given.

use idempotent_runtime::{Error, Job, Resolution, idempotent};

use super::words::{Failure, assert_clean, leave, raw};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "escape_<n>", ignore(how, fails))]
async fn escape(conn: &mut Conn, n: i64, how: &'static str, fails: bool) -> Result<i64, Failure> {
    leave(&mut *conn, "before").await?;
    raw(&mut *conn, how).await?;
    leave(&mut *conn, "after").await?;
    if fails { Err(Failure::Refused) } else { Ok(n) }
}

const WAYS: [&str; 6] = [
    "COMMIT",
    "ROLLBACK",
    "COMMIT; BEGIN",
    "ROLLBACK; BEGIN",
    "CREATE TABLE made (n int)",
    "TRUNCATE TABLE invoices",
];

async fn an_escape_is_in_doubt_and_never_runs_again(world: World<Db>) {
    for (n, how) in (1..).zip(WAYS) {
        let error = escape(&world.store, n, how, false).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::TransactionEscaped { .. }),
            "{how}: {error:?}"
        );
        let again = escape(&world.store, n, "DO 0", false).await.unwrap_err();
        assert!(
            matches!(again.runtime(), Error::InDoubt { .. }),
            "{how}: {again:?}"
        );
        world
            .store
            .resolve(format!("escape_{n}"), Resolution::RUN_AGAIN)
            .await
            .unwrap();
        let done = escape(&world.store, n, "DO 0", false).await.unwrap();
        assert!(done.is_performed());
    }
    assert_clean(&world.store).await;
}

async fn an_escape_that_fails_is_in_doubt_too(world: World<Db>) {
    for (n, how) in (1..).zip(WAYS) {
        let error = escape(&world.store, n, how, true).await.unwrap_err();
        assert!(matches!(error, Failure::Refused), "{how}: {error:?}");
        let again = escape(&world.store, n, "DO 0", false).await.unwrap_err();
        assert!(
            matches!(again.runtime(), Error::InDoubt { .. }),
            "{how}: {again:?}"
        );
    }
    assert_clean(&world.store).await;
}

async fn an_escape_on_a_callers_connection_is_in_doubt_too(world: World<Db>) {
    let mut conn = world.store.pool().acquire().await.unwrap();
    for (n, how) in (1..).zip(WAYS) {
        let error = escape(&mut *conn, n, how, false).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::TransactionEscaped { .. }),
            "{how}: {error:?}"
        );
        let again = escape(&world.store, n, "DO 0", false).await.unwrap_err();
        assert!(
            matches!(again.runtime(), Error::InDoubt { .. }),
            "{how}: {again:?}"
        );
        if how.starts_with("CREATE") {
            raw(&mut conn, "DROP TABLE made").await.unwrap();
        }
    }
    // The connection can be used as before.
    assert!(
        escape(&mut *conn, 100, "DO 0", false)
            .await
            .unwrap()
            .is_performed()
    );
    drop(conn);
    assert_clean(&world.store).await;
}

async fn an_escape_in_a_callers_transaction_loses_it(world: World<Db>) {
    for (n, how) in (1..).zip(WAYS) {
        let mut tx = world.store.begin().await.unwrap();
        leave(&mut tx, "outer").await.unwrap();
        let error = escape(&mut tx, n, how, false).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::OuterLost { .. }),
            "{how}: {error:?}"
        );
        assert!(tx.commit().await.is_err(), "{how}: a commit of nothing");
    }
    assert_clean(&world.store).await;
}

#[idempotent(key = "leased_escape_<n>", ignore(how))]
async fn leased_escape(job: &mut Job<'_, Db>, n: i64, how: &'static str) -> Result<i64, Failure> {
    let conn = job.tx().await?;
    leave(&mut *conn, "before").await?;
    raw(&mut *conn, how).await?;
    leave(conn, "after").await?;
    Ok(n)
}

async fn an_escape_of_a_leased_job_is_in_doubt(world: World<Db>) {
    for (n, how) in (1..).zip(WAYS) {
        let error = leased_escape(&world.store, n, how).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::TransactionEscaped { .. }),
            "{how}: {error:?}"
        );
        let again = leased_escape(&world.store, n, "DO 0").await.unwrap_err();
        assert!(
            matches!(again.runtime(), Error::InDoubt { .. }),
            "{how}: {again:?}"
        );
    }
    assert_clean(&world.store).await;
}

#[idempotent(key = "outer_escape_<n>", ignore(how))]
async fn calls_one_that_escapes(
    conn: &mut Conn,
    n: i64,
    how: &'static str,
) -> Result<i64, Failure> {
    leave(&mut *conn, "outer").await?;
    escape(&mut *conn, n, how, false).await?.into_value();
    Ok(n)
}

async fn the_job_around_one_that_escapes_is_in_doubt(world: World<Db>) {
    for (n, how) in (1..).zip(WAYS) {
        calls_one_that_escapes(&world.store, n, how)
            .await
            .unwrap_err();
        let again = calls_one_that_escapes(&world.store, n, "DO 0")
            .await
            .unwrap_err();
        assert!(
            matches!(again.runtime(), Error::InDoubt { .. }),
            "{how}: {again:?}"
        );
    }
    assert_clean(&world.store).await;
}

idempotent_tests::tests!(
    an_escape_is_in_doubt_and_never_runs_again,
    an_escape_that_fails_is_in_doubt_too,
    an_escape_on_a_callers_connection_is_in_doubt_too,
    an_escape_in_a_callers_transaction_loses_it,
    an_escape_of_a_leased_job_is_in_doubt,
    the_job_around_one_that_escapes_is_in_doubt,
);
