//! `unique` where the name of an index leaves several tables open.

use idempotent_runtime::{Outcome, Skip, idempotent};

use super::words::{Failure, leave};
use crate::db::{Conn, Db};
use crate::world::World;

/// One table is the job's, the others have indexes of the same names.
const TABLES: &str = "
    CREATE TABLE bills (id bigint PRIMARY KEY, order_id bigint NOT NULL, month varchar(20) NOT NULL,
        UNIQUE (order_id, month)) ENGINE=InnoDB;
    CREATE TABLE refunds (id bigint PRIMARY KEY, order_id bigint NOT NULL, month varchar(20) NOT NULL,
        UNIQUE (order_id, month), UNIQUE KEY refunds_month (month)) ENGINE=InnoDB";

async fn bill(
    conn: &mut Conn,
    table: &str,
    id: i64,
    order_id: i64,
    month: &str,
) -> sqlx::Result<()> {
    leave(&mut *conn, "billed").await?;
    let sql = match table {
        "bills" => "INSERT INTO bills VALUES (?, ?, ?)",
        _ => "INSERT INTO refunds VALUES (?, ?, ?)",
    };
    sqlx::query(sql)
        .bind(id)
        .bind(order_id)
        .bind(month)
        .execute(conn)
        .await
        .map(drop)
}

#[idempotent(key = "bill_<call>", unique = bills(order_id, month), ignore(table, id, order_id, month))]
async fn by_columns(
    conn: &mut Conn,
    call: i64,
    table: &'static str,
    id: i64,
    order_id: i64,
    month: &'static str,
) -> Result<i64, Failure> {
    bill(conn, table, id, order_id, month).await?;
    Ok(call)
}

#[idempotent(key = "bill_id_<call>", unique = bills(id), ignore(table, id, order_id, month))]
async fn by_primary_key(
    conn: &mut Conn,
    call: i64,
    table: &'static str,
    id: i64,
    order_id: i64,
    month: &'static str,
) -> Result<i64, Failure> {
    bill(conn, table, id, order_id, month).await?;
    Ok(call)
}

#[idempotent(key = "bill_name_<call>", unique = "refunds_month", ignore(id, month))]
async fn by_name(conn: &mut Conn, call: i64, id: i64, month: &'static str) -> Result<i64, Failure> {
    bill(conn, "refunds", id, id, month).await?;
    Ok(call)
}

#[idempotent(
    key = "bill_named_<call>",
    unique = "refunds.order_id",
    ignore(table, id, month)
)]
async fn by_qualified_name(
    conn: &mut Conn,
    call: i64,
    table: &'static str,
    id: i64,
    month: &'static str,
) -> Result<i64, Failure> {
    bill(conn, table, id, 5, month).await?;
    Ok(call)
}

#[idempotent(key = "bill_vague_<call>", unique = "order_id", ignore(id))]
async fn by_vague_name(conn: &mut Conn, call: i64, id: i64) -> Result<i64, Failure> {
    bill(conn, "refunds", id, 5, "2024-01").await?;
    Ok(call)
}

async fn a_constraint_is_told_from_its_namesakes(world: World<Db>) {
    world.run(TABLES).await;
    world
        .run(
            "INSERT INTO bills VALUES (77, 5, '2024-01'), (2, 6, '2024-02'); \
             INSERT INTO refunds VALUES (10, 7, '2024-01'), (2, 6, '2024-02')",
        )
        .await;
    let store = &world.store;
    // Exactly this constraint.
    let done = by_columns(store, 1, "bills", 3, 5, "2024-01")
        .await
        .unwrap();
    assert!(
        matches!(&done, Outcome::Skipped(Skip::Unique { constraint }) if constraint == "bills(order_id, month)"),
        "{done:?}"
    );
    // Its namesake in another table is the body's own error.
    let error = by_columns(store, 2, "refunds", 3, 7, "2024-01").await;
    assert!(matches!(error, Err(Failure::Database(_))), "{error:?}");
    // Where both have the values, nothing is certain.
    let error = by_columns(store, 3, "bills", 3, 6, "2024-02").await;
    assert!(matches!(error, Err(Failure::Database(_))), "{error:?}");
    // Another constraint of the same table.
    let error = by_columns(store, 4, "bills", 77, 9, "2024-09").await;
    assert!(matches!(error, Err(Failure::Database(_))), "{error:?}");
    // The primary key, whose name every table has.
    let done = by_primary_key(store, 1, "bills", 77, 9, "2024-09")
        .await
        .unwrap();
    assert!(done.is_skipped(), "{done:?}");
    let error = by_primary_key(store, 2, "refunds", 10, 9, "2024-09").await;
    assert!(matches!(error, Err(Failure::Database(_))), "{error:?}");
    assert_eq!(world.effects("billed").await, 0);
    // And what breaks nothing runs.
    assert!(
        by_columns(store, 5, "bills", 3, 5, "2024-03")
            .await
            .unwrap()
            .is_performed()
    );
}

async fn a_name_means_one_index(world: World<Db>) {
    world.run(TABLES).await;
    world
        .run("INSERT INTO refunds VALUES (10, 5, '2024-01'); INSERT INTO bills VALUES (1, 5, '2024-05')")
        .await;
    let store = &world.store;
    let done = by_name(store, 1, 11, "2024-01").await.unwrap();
    assert!(
        matches!(&done, Outcome::Skipped(Skip::Unique { constraint }) if constraint == "refunds_month"),
        "{done:?}"
    );
    let error = by_name(store, 2, 10, "2024-07").await;
    assert!(matches!(error, Err(Failure::Database(_))), "{error:?}");
    let done = by_qualified_name(store, 1, "refunds", 11, "2024-01").await;
    assert!(
        done.as_ref().is_ok_and(|done| done.is_skipped()),
        "{done:?}"
    );
    let error = by_qualified_name(store, 2, "bills", 12, "2024-05").await;
    assert!(matches!(error, Err(Failure::Database(_))), "{error:?}");
    // Two tables have an index of this name, and it does not say which.
    let error = by_vague_name(store, 1, 13).await;
    assert!(matches!(error, Err(Failure::Database(_))), "{error:?}");
    assert_eq!(world.effects("billed").await, 0);
}

idempotent_tests::tests!(
    a_constraint_is_told_from_its_namesakes,
    a_name_means_one_index
);
