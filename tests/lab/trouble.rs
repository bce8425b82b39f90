//! What the lab says where it cannot judge, and what to do then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idempotent_runtime::testing::LabError;
use idempotent_runtime::{Job, idempotent};
use sqlx::Pool;

use super::outside::{Failure, Gateway, now, schema};
use crate::db::{Db, sql};
use crate::lab;

type Judged = Result<(), LabError>;

async fn world(db: &Pool<Db>) -> sqlx::Result<Gateway> {
    schema(db, &["orders"]).await?;
    Ok(Gateway::default())
}

async fn pay(pool: &Pool<Db>, text: &'static str) -> sqlx::Result<()> {
    sqlx::query(sql(text)).execute(pool).await.map(drop)
}

const PAY: &str = "UPDATE orders SET paid = TRUE WHERE id = 42";

/// The error of a lab whose job runs one statement.
async fn of(text: &'static str, ignored: &'static [&'static str]) -> String {
    let ran = lab()
        .world(async |db| Ok(schema(db, &["orders"]).await?))
        .job(async |store, ()| pay(store.pool(), text).await)
        .ignore_columns(ignored.iter().copied())
        .run()
        .await;
    said(ran)
}

/// `Debug` is what a test that returns the error prints.
fn said<T: std::fmt::Debug>(ran: Result<T, LabError>) -> String {
    format!("{:?}", ran.expect_err("a lab that cannot judge"))
}

async fn a_world_that_cannot_be_made() -> Judged {
    let ran = lab()
        .world(async |db| {
            sqlx::query("CREATE TABEL orders").execute(db).await?;
            Ok(())
        })
        .job(async |_, ()| Ok::<_, LabError>(()))
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.starts_with("the world could not be made: ") && said.contains("TABEL"),
        "{said}"
    );
    Ok(())
}

async fn a_world_that_can_be_made_once_only() -> Judged {
    let made = AtomicUsize::new(0);
    let ran = lab()
        .world(async |db| {
            if made.fetch_add(1, Ordering::Relaxed) > 0 {
                return Err("port 4711 is taken".into());
            }
            Ok(schema(db, &["orders"]).await?)
        })
        .job(async |store, ()| pay(store.pool(), PAY).await)
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.contains("make it anew in the closure of `.world(…)`"),
        "{said}"
    );
    assert!(said.ends_with(": port 4711 is taken"), "{said}");
    Ok(())
}

async fn a_world_that_is_another_one_each_time() -> Judged {
    let ran = lab()
        .world(async |db| {
            schema(db, &["orders"]).await?;
            sqlx::query(sql("UPDATE orders SET paid_at = ? WHERE id = 41"))
                .bind(now())
                .execute(db)
                .await?;
            Ok(())
        })
        .job(async |store, ()| pay(store.pool(), PAY).await)
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.contains(
            "as the world is made, before the job:\nthese columns differ: \"orders.paid_at\""
        ),
        "{said}"
    );
    Ok(())
}

async fn a_job_that_fails_alone() -> Judged {
    let said = of("INSERT INTO nowhere VALUES (1)", &[]).await;
    assert!(
        said.starts_with("the job does not even succeed alone"),
        "{said}"
    );
    assert!(said.contains("nowhere"), "{said}");
    Ok(())
}

/// Not the first run, nor the second: what fails without a cut is no finding about cuts.
async fn a_job_that_sometimes_fails_alone() -> Judged {
    let calls = AtomicUsize::new(0);
    let ran = lab()
        .world(async |db| Ok(schema(db, &["orders"]).await?))
        .job(async |store, ()| {
            // The second call in the second world is the one that is made again.
            if calls.fetch_add(1, Ordering::Relaxed) > 2 {
                return Err(Box::<dyn std::error::Error + Send + Sync>::from("no luck"));
            }
            Ok(pay(store.pool(), PAY).await?)
        })
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.starts_with("the job does not even succeed alone") && said.ends_with("no luck"),
        "{said}"
    );
    Ok(())
}

async fn a_job_that_never_ends() -> Judged {
    let ran = lab()
        .world(async |db| Ok(schema(db, &["orders"]).await?))
        .job(async |store, ()| {
            pay(store.pool(), PAY).await?;
            std::future::pending::<Result<(), sqlx::Error>>().await
        })
        .patience(Duration::from_millis(300))
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.starts_with("the job does not even succeed alone")
            && said.contains("it did not end within 300ms")
            && said.contains("`.patience(…)`"),
        "{said}"
    );
    Ok(())
}

/// Which is about the job: the retry waits for what only the first attempt would have done.
async fn a_retry_that_never_ends() -> Judged {
    let report = lab()
        .world(async |db| Ok(world(db).await?))
        .job(async |store, gateway| {
            let first = gateway.charges().is_empty();
            gateway.charge("order 42", None).await;
            if !first {
                std::future::pending::<()>().await;
            }
            pay(store.pool(), PAY).await
        })
        .observe(Gateway::charges)
        .patience(Duration::from_millis(300))
        .run()
        .await?;
    let first = &report.differences()[0];
    let failure = first.failure().expect("a call that never succeeds");
    assert!(
        failure.starts_with("it did not end within 300ms"),
        "{report}"
    );
    Ok(())
}

async fn a_job_that_leaves_nothing() -> Judged {
    let said = of("UPDATE orders SET paid = TRUE WHERE id = 99", &[]).await;
    assert!(
        said.starts_with("one run of the job changed no row"),
        "{said}"
    );
    Ok(())
}

async fn pay_now(pool: &Pool<Db>) -> sqlx::Result<()> {
    sqlx::query(sql(
        "UPDATE orders SET paid = TRUE, paid_at = ? WHERE id = 42",
    ))
    .bind(now())
    .execute(pool)
    .await
    .map(drop)
}

async fn a_job_that_leaves_another_thing_each_time() -> Judged {
    let ran = lab()
        .world(async |db| Ok(schema(db, &["orders"]).await?))
        .job(async |store, ()| pay_now(store.pool()).await)
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.contains("these columns differ: \"orders.paid_at\""),
        "{said}"
    );
    let said = of(PAY, &["paid_at", "sent_at"]).await;
    assert!(said.contains("names `sent_at`"), "{said}");
    for name in ["paid_at", "orders.paid_at"] {
        let report = lab()
            .world(async |db| Ok(schema(db, &["orders"]).await?))
            .job(async |store, ()| pay_now(store.pool()).await)
            .ignore_columns([name])
            .run()
            .await?;
        assert!(report.is_once(), "{report}");
    }
    Ok(())
}

/// A look that counts itself would be blamed on the job.
async fn what_is_observed_changes_by_itself() -> Judged {
    let ran = lab()
        .world(async |db| {
            schema(db, &["orders"]).await?;
            Ok(AtomicUsize::new(0))
        })
        .job(async |store, _| pay(store.pool(), PAY).await)
        .observe(|looks| looks.fetch_add(1, Ordering::Relaxed))
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.starts_with("`.observe(…)` shows another thing when it is asked twice")
            && said.ends_with("first:  1\n  second: 2"),
        "{said}"
    );
    Ok(())
}

/// A task that the job leaves behind would have died with its process.
async fn a_task_that_outlives_the_attempt() -> Judged {
    let ran = lab()
        .world(async |db| Ok(schema(db, &["orders"]).await?))
        .job(async |store, ()| {
            let mut conn = store.pool().acquire().await?;
            let (done, end) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                let paid = sqlx::query(PAY).execute(&mut *conn).await;
                let _ = done.send(paid.map(drop));
                std::future::pending::<()>().await;
            });
            end.await.expect("the task is there")
        })
        .patience(Duration::from_millis(300))
        .run()
        .await;
    let said = said(ran);
    assert!(
        said.contains("a task that the job spawned") && said.contains("await it in the job"),
        "{said}"
    );
    Ok(())
}

#[idempotent(key = "panics_<order_id>")]
async fn panics_half_way(job: &mut Job<'_, Db>, order_id: i64) -> Result<(), Failure> {
    let insert = sql("INSERT INTO invoices (order_id, month) VALUES (?, 'x')");
    let added = sqlx::query(insert).bind(order_id).execute(job.pool()).await;
    match added {
        Ok(_) => Ok(()),
        // A panic, without the words on standard error.
        Err(error) => std::panic::resume_unwind(Box::new(format!("no invoice: {error}"))),
    }
}

async fn a_job_that_panics_on_the_retry() -> Judged {
    let report = lab()
        .world(async |db| Ok(schema(db, &["invoices"]).await?))
        .job(async |store, ()| panics_half_way(store, 42).await)
        .run()
        .await?;
    let failure = report.differences()[0].failure().unwrap();
    assert!(
        failure.starts_with("it panicked: no invoice: "),
        "{failure}"
    );
    let panic = std::panic::catch_unwind(|| report.assert_once()).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("this job is not idempotent"), "{said}");
    Ok(())
}

super::list!(
    a_world_that_cannot_be_made,
    a_world_that_can_be_made_once_only,
    a_world_that_is_another_one_each_time,
    a_job_that_fails_alone,
    a_job_that_sometimes_fails_alone,
    a_job_that_never_ends,
    a_retry_that_never_ends,
    a_job_that_leaves_nothing,
    a_job_that_leaves_another_thing_each_time,
    what_is_observed_changes_by_itself,
    a_task_that_outlives_the_attempt,
    a_job_that_panics_on_the_retry,
);
