//! Bodies that end the transaction that they were given: nothing runs again until a person says so.

use idempotent_runtime::{Error, Job, Outcome, Resolution, Store, idempotent};

use super::business::{Failure, Gateway, leave};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase, World, left_open};

/// What a body does against its promise, and the number of its writes that stay.
const ESCAPES: [(&str, i64); 4] = [
    ("COMMIT", 2),
    ("ROLLBACK", 1),
    ("COMMIT; BEGIN", 1),
    ("ROLLBACK; BEGIN", 0),
];

async fn escape(conn: &mut Conn, name: &str, statement: &'static str) -> Result<(), Failure> {
    leave(&mut *conn, name).await?;
    sqlx::raw_sql(statement).execute(&mut *conn).await?;
    leave(conn, name).await?;
    Ok(())
}

fn end(well: bool) -> Result<i64, Failure> {
    match well {
        true => Ok(1),
        false => Err(Failure::Refused("asked to")),
    }
}

#[idempotent(key = "escape_<name>", ignore(statement, well))]
async fn escapes(
    conn: &mut Conn,
    name: &str,
    statement: &'static str,
    well: bool,
) -> Result<i64, Failure> {
    if !statement.is_empty() {
        escape(conn, name, statement).await?;
    }
    end(well)
}

#[idempotent(key = "escape_<name>", ignore(statement, well), lease = 30s)]
async fn escapes_leased(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    name: &str,
    statement: &'static str,
    well: bool,
) -> Result<i64, Failure> {
    gateway.charge(job.key().as_str()).await;
    if !statement.is_empty() {
        escape(job.tx().await?, name, statement).await?;
    }
    end(well)
}

async fn call(
    store: &Store<Db>,
    gateway: &Gateway,
    leased: bool,
    name: &str,
    statement: &'static str,
    well: bool,
) -> Result<Outcome<i64, idempotent_runtime::Never>, Failure> {
    match leased {
        false => escapes(store, name, statement, well).await,
        true => escapes_leased(store, gateway, name, statement, well).await,
    }
}

/// 25: the caller hears of it, the connection is closed, and (32) the key is in doubt: no silent run,
/// no endless `Busy`.
async fn a_body_that_ends_its_transaction_leaves_the_key_in_doubt(world: World<Db>) {
    let store = world.another(1).await;
    let gateway = Gateway::default();
    for leased in [false, true] {
        for (statement, stay) in ESCAPES {
            for well in [true, false] {
                let name = format!("{statement} {leased} {well}");
                let error = call(&store, &gateway, leased, &name, statement, well)
                    .await
                    .unwrap_err();
                match well {
                    true => assert!(
                        matches!(error.runtime(), Error::TransactionEscaped { .. }),
                        "{name}: {error:?}"
                    ),
                    false => {
                        assert!(
                            matches!(error, Failure::Refused("asked to")),
                            "{name}: {error:?}"
                        );
                    }
                }
                assert!(!left_open(store.pool()).await, "{name}");
                assert_eq!(world.effects(&name).await, stay, "{name}");
                for store in [&store, &world.store] {
                    let doubt = call(store, &gateway, leased, &name, "", true)
                        .await
                        .unwrap_err();
                    assert!(
                        matches!(doubt.runtime(), Error::InDoubt { .. }),
                        "{name}: {doubt:?}"
                    );
                    assert!(!doubt.runtime().is_retryable());
                    assert!(doubt.to_string().contains("store.resolve"), "{doubt}");
                }
            }
        }
    }
    assert_eq!(gateway.requests(), 8, "no body ran twice");
}

/// 32: each way to decide on a key in doubt.
async fn a_person_decides_on_a_key_in_doubt(world: World<Db>) {
    let gateway = Gateway::default();
    for (name, resolution, then) in [
        ("complete", Resolution::Complete(7), Outcome::Replayed(7)),
        ("forget", Resolution::Forget, Outcome::Performed(1)),
        ("again", Resolution::RunAgain, Outcome::Performed(1)),
    ] {
        for leased in [false, true] {
            let name = format!("{name} {leased}");
            call(&world.store, &gateway, leased, &name, "COMMIT", true)
                .await
                .unwrap_err();
            let key = format!("escape_{name}");
            world.store.resolve(&key, resolution).await.unwrap();
            let outcome = call(&world.store, &gateway, leased, &name, "", true)
                .await
                .unwrap();
            assert_eq!(outcome, then, "{name}");
            let again = world
                .store
                .resolve(&key, Resolution::RUN_AGAIN)
                .await
                .unwrap_err();
            assert!(matches!(again, Error::NotResolvable { .. }), "{again:?}");
        }
    }
}

/// 25: in a transaction of the caller's, that is lost, and the words say so.
async fn an_escape_in_the_callers_transaction_loses_it(world: World<Db>) {
    for (statement, _) in ESCAPES {
        let store = world.another(1).await;
        let mut tx = store.begin().await.unwrap();
        let error = escapes(&mut tx, &format!("joined {statement}"), statement, true)
            .await
            .unwrap_err();
        assert!(
            matches!(error.runtime(), Error::OuterLost { .. }),
            "{statement}: {error:?}"
        );
        assert!(!error.runtime().is_retryable(), "{statement}");
        drop(tx);
        store.close().await;
    }
}

/// 25: the same within a step's own transaction, whether the step then succeeds or fails.
async fn a_step_that_ends_its_transaction_leaves_the_key_in_doubt(world: World<Db>) {
    #[idempotent(key = "step_escape_<name>", ignore(statement, well), lease = 30s)]
    async fn escaping_step(
        job: &mut Job<'_, Db>,
        gateway: &Gateway,
        name: &str,
        statement: &'static str,
        well: bool,
    ) -> Result<i64, Failure> {
        gateway.charge(job.key().as_str()).await;
        job.tx_step("escape", async |conn| {
            escape(conn, name, statement).await?;
            end(well)
        })
        .await?
    }
    let store = world.another(1).await;
    let gateway = Gateway::default();
    for (statement, stay) in ESCAPES {
        for well in [true, false] {
            let name = format!("{statement} {well}");
            let error = escaping_step(&store, &gateway, &name, statement, well).await;
            assert!(error.is_err(), "{name}");
            assert!(!left_open(store.pool()).await, "{name}");
            assert_eq!(world.effects(&name).await, stay, "{name}");
            let doubt = escaping_step(&world.store, &gateway, &name, statement, well)
                .await
                .unwrap_err();
            assert!(
                matches!(doubt, Failure::Idempotent(Error::InDoubt { .. })),
                "{name}: {doubt:?}"
            );
        }
    }
    assert_eq!(gateway.requests(), 8, "no body ran twice");
}

/// 25: a change of the schema is part of the job, or where it commits by itself, an escape.
async fn a_change_of_the_schema_is_undone_or_an_escape(world: World<Db>) {
    #[idempotent(key = "ddl_<well>")]
    async fn ddl(conn: &mut Conn, well: bool) -> Result<i64, Failure> {
        leave(&mut *conn, "ddl").await?;
        sqlx::raw_sql("CREATE TABLE made_by_a_job (id bigint)")
            .execute(conn)
            .await?;
        end(well)
    }
    if Db::DDL_COMMITS {
        let error = ddl(&world.store, true).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::TransactionEscaped { .. }),
            "{error:?}"
        );
        let error = ddl(&world.store, true).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::InDoubt { .. }),
            "{error:?}"
        );
        return;
    }
    assert!(matches!(
        ddl(&world.store, false).await.unwrap_err(),
        Failure::Refused(_)
    ));
    assert_eq!(world.effects("ddl").await, 0);
    assert!(ddl(&world.store, true).await.unwrap().is_performed());
    assert!(ddl(&world.store, true).await.unwrap().is_replayed());
    world.run("DROP TABLE made_by_a_job").await;
}

/// 16: a body that swallows what the database refused, and returns `Ok`: done only if the database
/// kept its other writes.
async fn a_swallowed_error_is_never_done_without_its_writes(world: World<Db>) {
    #[idempotent(key = "swallow_<name>")]
    async fn swallows(conn: &mut Conn, name: &str) -> Result<i64, Failure> {
        leave(&mut *conn, name).await?;
        sqlx::raw_sql(Db::UNDOING_ERROR)
            .execute(conn)
            .await
            .expect_err("the database refuses");
        Ok(1)
    }
    world
        .run("INSERT INTO accounts (email) VALUES ('taken')")
        .await;
    let store = world.another(1).await;
    let outcome = swallows(&store, "s").await;
    assert!(!left_open(store.pool()).await);
    let done = outcome.is_ok();
    assert_eq!(world.effects("s").await, i64::from(done), "{outcome:?}");
    if Db::UNDOES_ON_ERROR {
        assert!(!done, "{outcome:?}");
    }
}

idempotent_tests::tests!(
    a_body_that_ends_its_transaction_leaves_the_key_in_doubt,
    a_person_decides_on_a_key_in_doubt,
    an_escape_in_the_callers_transaction_loses_it,
    a_step_that_ends_its_transaction_leaves_the_key_in_doubt,
    a_change_of_the_schema_is_undone_or_an_escape,
    a_swallowed_error_is_never_done_without_its_writes,
);
