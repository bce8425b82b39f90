//! What the lab says where it cannot judge.

use idempotent_runtime::testing::{Lab, LabError};
use idempotent_runtime::{Job, Sqlite, idempotent};
use sqlx::SqlitePool;

use super::outside::{Failure, schema};

async fn pay(pool: &SqlitePool, sql: &'static str) -> sqlx::Result<()> {
    sqlx::query(sql).execute(pool).await.map(drop)
}

/// The error of a lab whose job runs one statement.
async fn of(sql: &'static str, ignored: &'static [&'static str]) -> String {
    let ran = Lab::sqlite()
        .world(async |db| Ok(schema(db).await?))
        .job(async |store, ()| pay(store.pool(), sql).await)
        .ignore_columns(ignored.iter().copied())
        .run()
        .await;
    // `Debug` is what a test that returns it prints.
    format!("{:?}", ran.expect_err("a lab that cannot judge"))
}

#[tokio::test]
async fn a_world_that_cannot_be_made() {
    let ran = Lab::sqlite()
        .world(async |db| {
            sqlx::query("CREATE TABEL orders").execute(db).await?;
            Ok(())
        })
        .job(async |_, ()| Ok::<_, LabError>(()))
        .run()
        .await;
    let said = format!("{:?}", ran.unwrap_err());
    assert!(
        said.starts_with("the world could not be made: ") && said.contains("TABEL"),
        "{said}"
    );
}

#[tokio::test]
async fn a_job_that_fails_alone() {
    let said = of("INSERT INTO nowhere VALUES (1)", &[]).await;
    assert!(
        said.starts_with("the job does not even succeed alone"),
        "{said}"
    );
    assert!(said.contains("no such table: nowhere"), "{said}");
}

#[tokio::test]
async fn a_job_that_leaves_nothing() {
    let said = of("UPDATE orders SET paid = TRUE WHERE id = 99", &[]).await;
    assert!(
        said.starts_with("one run of the job changed no row"),
        "{said}"
    );
}

#[tokio::test]
async fn a_job_that_leaves_another_thing_each_time() {
    let sql = "UPDATE orders SET paid = TRUE, paid_at = hex(randomblob(8)) WHERE id = 42";
    let said = of(sql, &[]).await;
    assert!(
        said.contains("these columns differ: \"orders.paid_at\""),
        "{said}"
    );
    let said = of(sql, &["paid_at", "sent_at"]).await;
    assert!(said.contains("names `sent_at`"), "{said}");
    let ran = Lab::sqlite()
        .world(async |db| Ok(schema(db).await?))
        .job(async |store, ()| pay(store.pool(), sql).await)
        .ignore_columns(["paid_at"])
        .run()
        .await;
    assert!(ran.unwrap().is_once());
}

#[idempotent(key = "panics_<order_id>")]
async fn panics_half_way(job: &mut Job<'_, Sqlite>, order_id: i64) -> Result<(), Failure> {
    sqlx::query("INSERT INTO invoices (order_id, month) VALUES (?, 'x')")
        .bind(order_id)
        .execute(job.pool())
        .await
        .unwrap();
    Ok(())
}

#[tokio::test]
async fn a_job_that_panics_on_the_retry() {
    let report = Lab::sqlite()
        .world(async |db| Ok(schema(db).await?))
        .job(async |store, ()| panics_half_way(store, 42).await)
        .run()
        .await
        .unwrap();
    let failure = report.differences()[0].failure().unwrap();
    assert!(
        failure.starts_with("it panicked: called `Result::unwrap()`"),
        "{failure}"
    );
    let panic = std::panic::catch_unwind(|| report.assert_once()).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("this job is not idempotent"), "{said}");
}
