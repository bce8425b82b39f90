//! Deliberately wrong jobs, each caught with the right report.

use idempotent_runtime::testing::{Cause, Difference, LabError, Report, Scenario};
use idempotent_runtime::{Job, Outcome, Store, idempotent};
use sqlx::Pool;

use super::outside::{Failure, Gateway, Queue, schema};
use crate::db::{Conn, Db, sql};
use crate::lab;

/// The first difference, and what the report says in all.
#[track_caller]
fn caught(report: &Report) -> (&Difference, String) {
    let said = report.to_string();
    let Some(first) = report.differences().first() else {
        panic!("nothing was found: {said}");
    };
    assert!(!report.is_once() && said.starts_with("this job is not idempotent"));
    (first, said)
}

async fn world(db: &Pool<Db>) -> sqlx::Result<Gateway> {
    schema(db, &["orders", "payments"]).await?;
    Ok(Gateway::default())
}

// 1. The charge comes before the job: every call makes it.

#[idempotent(key = "mark_<order_id>")]
async fn mark_paid(conn: &mut Conn, order_id: i64) -> Result<(), Failure> {
    sqlx::query(sql("UPDATE orders SET paid = TRUE WHERE id = ?"))
        .bind(order_id)
        .execute(conn)
        .await?;
    Ok(())
}

async fn charge_then_claim(store: Store<Db>, gateway: &Gateway) -> Result<(), Failure> {
    gateway.charge("order 42", None).await;
    mark_paid(store, 42).await.map(Outcome::into_value)
}

async fn an_effect_before_the_claim() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(world(db).await?))
        .job(async |store, gateway| charge_then_claim(store, gateway).await)
        .observe(Gateway::charges)
        .run()
        .await?;
    let (first, said) = caught(&report);
    assert_eq!(first.cause(), Some(&Cause::EffectBeforeClaim));
    assert_eq!(*first.scenario(), Scenario::Again);
    assert!(
        first
            .diff()
            .contains("here:          [\"order 42\", \"order 42\"]")
    );
    assert!(said.contains("an effect before the claim"));
    // Every kind of trial comes to the same.
    let causes = report.differences().iter().map(Difference::cause);
    assert!(causes.eq([Some(&Cause::EffectBeforeClaim); 4]), "{said}");
    Ok(())
}

// 2. The gateway gets no key: after a crash it cannot tell the retry from a new charge.

#[idempotent(key = "keyless_<order_id>")]
async fn charge_without_key(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<String, Failure> {
    let receipt = gateway.charge(&format!("order {order_id}"), None).await;
    sqlx::query(sql(
        "INSERT INTO payments (order_id, receipt) VALUES (?, ?)",
    ))
    .bind(order_id)
    .bind(&receipt)
    .execute(job.tx().await?)
    .await?;
    Ok(receipt)
}

async fn an_outside_call_without_the_key() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(world(db).await?))
        .job(async |store, gateway| charge_without_key(store, gateway, 42).await)
        .observe(Gateway::charges)
        .run()
        .await?;
    let (first, said) = caught(&report);
    assert_eq!(first.cause(), Some(&Cause::CallWithoutKey));
    let Scenario::Killed(at) = first.scenario() else {
        panic!("{said}");
    };
    // Right after the claim: the charge was made, and nothing else.
    let statement = at.statement().expect("after one");
    assert!(statement.contains("INSERT INTO idempotent_keys"), "{said}");
    assert!(said.contains("killed at its ") && said.contains("`job.key()`"));
    Ok(())
}

// 3. The payment is written through the pool: it is there while the key is not done.

#[idempotent(key = "leaky_<order_id>")]
async fn write_through_the_pool(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<(), Failure> {
    let charge = format!("order {order_id}");
    let receipt = gateway.charge(&charge, Some(job.key().as_str())).await;
    sqlx::query(sql(
        "INSERT INTO payments (order_id, receipt) VALUES (?, ?)",
    ))
    .bind(order_id)
    .bind(&receipt)
    .execute(job.pool())
    .await?;
    sqlx::query(sql("UPDATE orders SET paid = TRUE WHERE id = ?"))
        .bind(order_id)
        .execute(job.tx().await?)
        .await?;
    Ok(())
}

async fn a_write_outside_the_transaction() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(world(db).await?))
        .job(async |store, gateway| write_through_the_pool(store, gateway, 42).await)
        .observe(Gateway::charges)
        .run()
        .await?;
    let (first, said) = caught(&report);
    assert_eq!(first.cause(), Some(&Cause::WriteOutsideTx));
    let Scenario::Killed(at) = first.scenario() else {
        panic!("{said}");
    };
    let statement = at.statement().expect("after one");
    assert!(statement.starts_with("INSERT INTO payments"), "{said}");
    assert_eq!(
        first.diff(),
        "table `payments`: 1 row too many\n  + order_id: 42, receipt: 'receipt of order 42'"
    );
    assert!(said.contains("a write outside of `job.tx()`"));
    Ok(())
}

// 4. By hand: look, then insert. Two that look at once both insert.

async fn look_then_insert(store: Store<Db>, order_id: i64, month: &str) -> sqlx::Result<()> {
    let found: Option<i64> = sqlx::query_scalar(sql(
        "SELECT id FROM loose_invoices WHERE order_id = ? AND month = ?",
    ))
    .bind(order_id)
    .bind(month)
    .fetch_optional(store.pool())
    .await?;
    if found.is_none() {
        sqlx::query(sql(
            "INSERT INTO loose_invoices (order_id, month) VALUES (?, ?)",
        ))
        .bind(order_id)
        .bind(month)
        .execute(store.pool())
        .await?;
    }
    Ok(())
}

async fn a_missing_unique_constraint() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(schema(db, &["loose_invoices"]).await?))
        .job(async |store, ()| look_then_insert(store, 42, "2025-05").await)
        .run()
        .await?;
    let (first, said) = caught(&report);
    assert_eq!(first.cause(), Some(&Cause::MissingUnique));
    assert!(
        matches!(first.scenario(), Scenario::Together { .. }),
        "{said}"
    );
    // Numbers that a server gives are not compared.
    let row = match crate::db::SERVER {
        None => "id: 2, order_id: 42, month: '2025-05'",
        Some(_) => "order_id: 42, month: '2025-05'",
    };
    assert_eq!(
        first.diff(),
        format!("table `loose_invoices`: 1 row too many\n  + {row}")
    );
    assert!(said.contains("a missing unique constraint"));
    Ok(())
}

// 5. The key is made from the delivery, and not from the order.

#[idempotent(key = "delivery_<delivery>")]
async fn pay_delivered(conn: &mut Conn, delivery: usize, order_id: i64) -> Result<(), Failure> {
    sqlx::query(sql(
        "INSERT INTO payments (order_id, receipt) VALUES (?, 'on delivery')",
    ))
    .bind(order_id)
    .execute(conn)
    .await?;
    Ok(())
}

async fn a_key_that_changes_between_attempts() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| {
            schema(db, &["payments"]).await?;
            Ok(Queue::default())
        })
        .job(async |store, queue| pay_delivered(store, queue.deliver(), 42).await)
        .run()
        .await?;
    let (first, said) = caught(&report);
    let keys = vec!["delivery_1".to_owned()];
    assert_eq!(first.cause(), Some(&Cause::KeyChanges { keys }));
    assert_eq!(*first.scenario(), Scenario::Again);
    assert!(
        said.contains(
            "a key that is not the same on every attempt: the ledger also has `delivery_1`"
        )
    );
    Ok(())
}

// 6. The mark comes before what it stands for: after a crash nobody charges.

#[idempotent(key = "hasty_<order_id>", guard = paid)]
async fn mark_then_charge(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<(), Failure> {
    sqlx::query(sql("UPDATE orders SET paid = TRUE WHERE id = ?"))
        .bind(order_id)
        .execute(job.pool())
        .await?;
    gateway.charge("order", Some(job.key().as_str())).await;
    Ok(())
}

async fn paid(conn: &mut Conn, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar(sql("SELECT paid FROM orders WHERE id = ?"))
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

async fn a_lost_effect() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(world(db).await?))
        .job(async |store, gateway| mark_then_charge(store, gateway, 42).await)
        .observe(Gateway::charges)
        .run()
        .await?;
    let (first, _) = caught(&report);
    assert_eq!(first.cause(), Some(&Cause::WriteOutsideTx));
    assert!(
        first
            .diff()
            .contains("after one run: [\"order\"]\n  here:          []")
    );
    Ok(())
}

// 7. What the cut attempt left stands in the way of every retry.

#[idempotent(key = "stuck_<order_id>")]
async fn insert_through_the_pool(job: &mut Job<'_, Db>, order_id: i64) -> Result<(), Failure> {
    sqlx::query(sql(
        "INSERT INTO invoices (order_id, month) VALUES (?, '2025-05')",
    ))
    .bind(order_id)
    .execute(job.pool())
    .await?;
    Ok(())
}

async fn a_retry_that_never_succeeds() -> Result<(), LabError> {
    let report = lab()
        .world(async |db| Ok(schema(db, &["invoices"]).await?))
        .job(async |store, ()| insert_through_the_pool(store, 42).await)
        .run()
        .await?;
    let (first, said) = caught(&report);
    assert_eq!(first.cause(), Some(&Cause::WriteOutsideTx));
    let failure = first.failure().unwrap();
    assert!(
        failure.starts_with("it failed: the database failed: ")
            && (failure.contains("UNIQUE") || failure.to_lowercase().contains("duplicate")),
        "{failure}"
    );
    assert!(said.contains("a call never succeeded"));
    Ok(())
}

super::list!(
    an_effect_before_the_claim,
    an_outside_call_without_the_key,
    a_write_outside_the_transaction,
    a_missing_unique_constraint,
    a_key_that_changes_between_attempts,
    a_lost_effect,
    a_retry_that_never_succeeds,
);
