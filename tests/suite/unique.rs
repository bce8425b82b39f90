//! `unique`: one constraint, and only that one, says that the work is done.

use idempotent_runtime::{Error, Outcome, Skip, idempotent};

use super::business::{Failure, leave};
use crate::db::{Conn, Db, sql};
use crate::world::World;

async fn insert_invoice(conn: &mut Conn, order_id: i64, month: &str) -> sqlx::Result<()> {
    sqlx::query(sql(
        "INSERT INTO invoices (order_id, month, number) VALUES (?, ?, 7)",
    ))
    .bind(order_id)
    .bind(month)
    .execute(conn)
    .await
    .map(drop)
}

async fn insert_account(conn: &mut Conn, email: &str) -> sqlx::Result<()> {
    sqlx::query(sql("INSERT INTO accounts (email) VALUES (?)"))
        .bind(email)
        .execute(conn)
        .await
        .map(drop)
}

async fn number(conn: &mut Conn, order_id: i64, month: String) -> sqlx::Result<i64> {
    sqlx::query_scalar(sql(
        "SELECT number FROM invoices WHERE order_id = ? AND month = ?",
    ))
    .bind(order_id)
    .bind(month)
    .fetch_one(conn)
    .await
}

#[idempotent(key = "invoice_<order_id>_<month>", unique = invoices(order_id, month))]
async fn invoice(conn: &mut Conn, order_id: i64, month: String) -> Result<i64, Failure> {
    leave(&mut *conn, "invoice").await?;
    insert_invoice(conn, order_id, &month).await?;
    Ok(7)
}

/// T3: the row exists: the job is skipped, its other writes are undone, and a retry hears the same.
async fn a_violation_means_already_done(world: World<Db>) {
    world
        .run("INSERT INTO invoices (order_id, month) VALUES (1, 'May')")
        .await;
    for _ in 0..2 {
        let outcome = invoice(&world.store, 1, "May".to_owned()).await.unwrap();
        assert!(
            matches!(&outcome, Outcome::Skipped(Skip::Unique { constraint }) if constraint.contains("invoices")),
            "{outcome:?}"
        );
        assert_eq!(
            (
                world.effects("invoice").await,
                world.rows("invoice_1_May").await
            ),
            (0, 0)
        );
    }
    assert_eq!(
        invoice(&world.store, 1, "June".to_owned()).await.unwrap(),
        Outcome::Performed(7)
    );
    assert_eq!(
        invoice(&world.store, 1, "June".to_owned()).await.unwrap(),
        Outcome::Replayed(7)
    );
    assert_eq!(world.effects("invoice").await, 1);
}

#[idempotent(key = "existing_<order_id>_<month>", unique = invoices(month, order_id), existing = number)]
async fn existing(conn: &mut Conn, order_id: i64, month: String) -> Result<i64, Failure> {
    leave(&mut *conn, "existing").await?;
    insert_invoice(conn, order_id, &month).await?;
    Ok(7)
}

/// `existing`: the value that is already there is the answer, whatever the columns' order; the job
/// then cannot skip.
async fn a_violation_answers_with_what_exists(world: World<Db>) {
    world
        .run("INSERT INTO invoices (order_id, month, number) VALUES (1, 'May', 99)")
        .await;
    for _ in 0..2 {
        let outcome = existing(&world.store, 1, "May".to_owned()).await.unwrap();
        assert_eq!(outcome, Outcome::Replayed(99));
        assert_eq!(outcome.into_value(), 99);
    }
    assert_eq!(
        (
            world.effects("existing").await,
            world.rows("existing_1_May").await
        ),
        (0, 0)
    );
    let fresh = existing(&world.store, 1, "June".to_owned()).await.unwrap();
    assert_eq!(fresh, Outcome::Performed(7));
}

#[idempotent(key = "account_<email>", unique = "accounts_email")]
async fn account(conn: &mut Conn, email: &str) -> Result<(), Failure> {
    leave(&mut *conn, "account").await?;
    insert_account(conn, email).await?;
    Ok(())
}

/// T3: the same for a constraint that is known by its name.
async fn a_constraint_can_be_named(world: World<Db>) {
    world
        .run("INSERT INTO accounts (email) VALUES ('a@b.c')")
        .await;
    let outcome = account(&world.store, "a@b.c").await.unwrap();
    assert_eq!(
        outcome,
        Outcome::Skipped(Skip::Unique {
            constraint: "accounts_email".to_owned()
        })
    );
    assert_eq!(world.effects("account").await, 0);
    assert!(account(&world.store, "d@e.f").await.unwrap().is_performed());
}

/// T3: another constraint is an error, and no skip: in both forms.
async fn another_constraint_is_an_error(world: World<Db>) {
    #[idempotent(key = "wrong_columns_<email>", unique = invoices(order_id, month))]
    async fn wrong_columns(conn: &mut Conn, email: &str) -> Result<(), Failure> {
        leave(&mut *conn, "wrong").await?;
        insert_account(conn, email).await?;
        Ok(())
    }
    #[idempotent(key = "wrong_name_<email>", unique = "accounts_phone")]
    async fn wrong_name(conn: &mut Conn, email: &str) -> Result<(), Failure> {
        leave(&mut *conn, "wrong").await?;
        insert_account(conn, email).await?;
        Ok(())
    }
    world.run("INSERT INTO accounts (email) VALUES ('a')").await;
    let errors = [
        wrong_columns(&world.store, "a").await.unwrap_err(),
        wrong_name(&world.store, "a").await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(&error, Failure::Database(sqlx::Error::Database(error)) if error.is_unique_violation()),
            "{error:?}"
        );
    }
    assert_eq!(world.effects("wrong").await, 0);
}

/// A body that maps the violation away gets its own error; one that swallows it, its own value.
async fn what_the_body_hides_is_not_a_skip(world: World<Db>) {
    #[idempotent(key = "mapped_<email>", unique = "accounts_email")]
    async fn mapped(conn: &mut Conn, email: &str) -> Result<(), Failure> {
        leave(&mut *conn, "hidden").await?;
        insert_account(conn, email)
            .await
            .map_err(|_| Failure::Refused("no account"))
    }
    world.run("INSERT INTO accounts (email) VALUES ('a')").await;
    let error = mapped(&world.store, "a").await.unwrap_err();
    assert!(matches!(error, Failure::Refused("no account")), "{error:?}");
    assert_eq!(world.effects("hidden").await, 0);
}

/// sqlx's error is found in whatever shape it is carried.
async fn the_violation_is_found_in_the_errors_chain(world: World<Db>) {
    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error(transparent)]
        Transparent(sqlx::Error),
        #[error("deep inside")]
        Deep(#[source] Failure),
        #[error(transparent)]
        Runtime(#[from] Error),
    }
    #[idempotent(key = "carried_<email>_<how>", unique = "accounts_email")]
    async fn carried(conn: &mut Conn, email: &str, how: u8) -> Result<(), Outer> {
        let inserted = insert_account(conn, email).await;
        inserted.map_err(|error| match how {
            0 => Outer::Transparent(error),
            _ => Outer::Deep(Failure::Database(error)),
        })
    }
    #[idempotent(key = "anyhow_<email>", unique = "accounts_email")]
    async fn in_anyhow(conn: &mut Conn, email: &str) -> anyhow::Result<()> {
        use anyhow::Context as _;
        insert_account(conn, email).await.context("while testing")?;
        Ok(())
    }
    world.run("INSERT INTO accounts (email) VALUES ('a')").await;
    for how in [0, 1] {
        let outcome = carried(&world.store, "a", how).await.unwrap();
        assert!(
            matches!(outcome, Outcome::Skipped(Skip::Unique { .. })),
            "{how}: {outcome:?}"
        );
    }
    let outcome = in_anyhow(&world.store, "a").await.unwrap();
    assert!(
        matches!(outcome, Outcome::Skipped(Skip::Unique { .. })),
        "{outcome:?}"
    );
}

/// In a transaction of the caller's, only the job's writes are undone.
async fn a_violation_undoes_the_job_alone(world: World<Db>) {
    world
        .run("INSERT INTO invoices (order_id, month) VALUES (1, 'May')")
        .await;
    let mut tx = world.store.begin().await.unwrap();
    leave(&mut tx, "callers").await.unwrap();
    let outcome = invoice(&mut tx, 1, "May".to_owned()).await.unwrap();
    assert!(outcome.is_skipped());
    assert!(
        invoice(&mut tx, 1, "June".to_owned())
            .await
            .unwrap()
            .is_performed()
    );
    tx.commit().await.unwrap();
    assert_eq!(
        (
            world.effects("callers").await,
            world.effects("invoice").await
        ),
        (1, 1)
    );
}

idempotent_tests::tests!(
    a_violation_means_already_done,
    a_violation_answers_with_what_exists,
    a_constraint_can_be_named,
    another_constraint_is_an_error,
    what_the_body_hides_is_not_a_skip,
    the_violation_is_found_in_the_errors_chain,
    a_violation_undoes_the_job_alone,
);
