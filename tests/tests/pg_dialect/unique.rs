//! `unique = …`: PostgreSQL reports a constraint's name; the attribute may say its columns.

use idempotent_runtime::{Outcome, Skip, idempotent};
use sqlx::PgConnection;

use crate::work::{Failure, PgWorld, leave};

const TABLES: &str = "
    CREATE TABLE deferred (a bigint, b bigint,
        CONSTRAINT deferred_ab UNIQUE (a, b) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE parts (a bigint, b bigint) PARTITION BY RANGE (a);
    CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
    CREATE UNIQUE INDEX parts_ab ON parts (a, b);
    CREATE TABLE spelled (name text, other bigint UNIQUE);
    CREATE UNIQUE INDEX spelled_lower ON spelled (lower(name));
    CREATE SCHEMA elsewhere;
    CREATE TABLE elsewhere.twin (a bigint, b bigint, CONSTRAINT twin_key UNIQUE (a));
    CREATE TABLE twin (a bigint, b bigint, CONSTRAINT twin_key UNIQUE (b));";

fn constraint<T: std::fmt::Debug>(outcome: Outcome<T>) -> String {
    match outcome {
        Outcome::Skipped(Skip::Unique { constraint }) => constraint,
        other => panic!("not skipped: {other:?}"),
    }
}

async fn insert(conn: &mut PgConnection, sql: &'static str, a: i64) -> Result<(), Failure> {
    leave(&mut *conn, "unique").await?;
    sqlx::query(sql).bind(a).execute(conn).await?;
    Ok(())
}

macro_rules! jobs {
    ($($name:ident: $unique:tt $(($($column:ident),*))? => $sql:literal;)*) => {$(
        #[idempotent(key = "<call>/<a>", unique = $unique $(($($column),*))?)]
        async fn $name(conn: &mut PgConnection, call: i64, a: i64) -> Result<(), Failure> {
            insert(conn, $sql, a).await
        }
    )*};
}

jobs! {
    by_columns: invoices(month, order_id) => "INSERT INTO invoices (order_id, month) VALUES ($1, 'May')";
    by_name: "invoices_order_id_month_key" => "INSERT INTO invoices (order_id, month) VALUES ($1, 'May')";
    by_wrong_name: "accounts_email" => "INSERT INTO invoices (order_id, month) VALUES ($1, 'May')";
    by_wrong_columns: invoices(order_id) => "INSERT INTO invoices (order_id, month) VALUES ($1, 'May')";
    deferred_by_columns: deferred(a, b) => "INSERT INTO deferred VALUES ($1, 1)";
    deferred_by_name: "deferred_ab" => "INSERT INTO deferred VALUES ($1, 1)";
    part_by_columns: parts(a, b) => "INSERT INTO parts VALUES ($1, 1)";
    part_by_name: "parts_ab" => "INSERT INTO parts VALUES ($1, 1)";
    by_expression: "spelled_lower" => "INSERT INTO spelled VALUES ('A' || $1::bigint, NULL)";
    in_schema: twin(a) => "INSERT INTO elsewhere.twin VALUES ($1, 1)";
    not_in_schema: twin(b) => "INSERT INTO elsewhere.twin VALUES ($1, 1)";
}

/// The first call inserts; the second one, under another key, meets the constraint.
macro_rules! twice {
    ($world:ident, $job:ident, $first:literal) => {{
        assert!($job(&$world.store, $first, 7).await.unwrap().is_performed());
        twice!(again $world, $job, $first)
    }};
    (again $world:ident, $job:ident, $first:literal) => {{
        let outcome = $job(&$world.store, $first + 1, 7).await.unwrap();
        // Joined: the outer transaction goes on.
        let mut tx = $world.store.begin().await.unwrap();
        assert!($job(&mut tx, $first + 1, 7).await.unwrap().is_skipped());
        leave(&mut tx, concat!("outer ", stringify!($job))).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!($world.effects(concat!("outer ", stringify!($job))).await, 1);
        constraint(outcome)
    }};
}

async fn a_violation_of_the_named_constraint_skips(world: PgWorld) {
    world.run(TABLES).await;
    assert_eq!(twice!(world, by_columns, 10), "invoices_order_id_month_key");
    assert_eq!(
        twice!(again world, by_name, 20),
        "invoices_order_id_month_key"
    );
    assert_eq!(twice!(world, deferred_by_columns, 30), "deferred_ab");
    assert_eq!(twice!(again world, deferred_by_name, 40), "deferred_ab");
    assert_eq!(twice!(world, part_by_columns, 50), "parts_ab");
    assert_eq!(twice!(again world, part_by_name, 60), "parts_ab");
    assert_eq!(twice!(world, by_expression, 70), "spelled_lower");
    assert_eq!(twice!(world, in_schema, 80), "twin_key");
    assert_eq!(world.effects("unique").await, 5);
    assert_eq!(
        world
            .number("SELECT count(*) FROM idempotent_keys WHERE job <> ?", "")
            .await,
        5
    );
}

async fn a_violation_of_another_constraint_is_the_bodys_error(world: PgWorld) {
    world.run(TABLES).await;
    by_columns(&world.store, 1, 7).await.unwrap();
    in_schema(&world.store, 1, 8).await.unwrap();
    for error in [
        by_wrong_name(&world.store, 2, 7).await.unwrap_err(),
        by_wrong_columns(&world.store, 2, 7).await.unwrap_err(),
        not_in_schema(&world.store, 2, 8).await.unwrap_err(),
    ] {
        assert!(matches!(error, Failure::Database(_)), "{error:?}");
    }
    assert_eq!(world.effects("unique").await, 2);
    assert_eq!(
        world
            .number("SELECT count(*) FROM idempotent_keys WHERE job <> ?", "")
            .await,
        2
    );
}

idempotent_tests::tests!(
    a_violation_of_the_named_constraint_skips,
    a_violation_of_another_constraint_is_the_bodys_error,
);
