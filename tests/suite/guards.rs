//! Guards and conditions: when there is nothing to do, and when a job broke its word.

use idempotent_runtime::{Error, Job, Outcome, Skip, idempotent};

use super::business::{Failure, Gateway, Receipt, leave, mark_paid, paid};
use crate::db::{Conn, Db, sql};
use crate::world::World;

async fn cancelled(conn: &mut Conn, order_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar(sql("SELECT cancelled FROM orders WHERE id = ?"))
        .bind(order_id)
        .fetch_optional(conn)
        .await
}

async fn cancel(conn: &mut Conn, order_id: i64) -> sqlx::Result<()> {
    sqlx::query(sql("UPDATE orders SET cancelled = TRUE WHERE id = ?"))
        .bind(order_id)
        .execute(conn)
        .await
        .map(drop)
}

#[idempotent(key = "ship_<order_id>", skip_if = cancelled)]
async fn ship(conn: &mut Conn, order_id: i64) -> Result<i64, Failure> {
    leave(&mut *conn, "ship").await?;
    cancel(conn, order_id).await?;
    Ok(order_id)
}

/// `skip_if`: asked before the body only; `true` and a missing record skip, and leave no key.
async fn a_condition_is_asked_before_and_never_after(world: World<Db>) {
    world
        .run("UPDATE orders SET cancelled = TRUE WHERE id = 1")
        .await;
    assert_eq!(
        ship(&world.store, 1).await.unwrap(),
        Outcome::Skipped(Skip::Condition)
    );
    assert_eq!(
        ship(&world.store, 99).await.unwrap(),
        Outcome::Skipped(Skip::Condition)
    );
    assert_eq!(
        (world.rows("ship_1").await, world.rows("ship_99").await),
        (0, 0)
    );
    world
        .run("UPDATE orders SET cancelled = FALSE WHERE id = 1")
        .await;
    // The body itself makes the condition true, which is nobody's business after it.
    assert_eq!(ship(&world.store, 1).await.unwrap(), Outcome::Performed(1));
    assert_eq!(ship(&world.store, 1).await.unwrap(), Outcome::Replayed(1));
    assert_eq!(world.effects("ship").await, 1);
}

#[idempotent(key = "both_<order_id>", guard = paid, skip_if = cancelled)]
async fn both(job: &mut Job<'_, Db>, gateway: &Gateway, order_id: i64) -> Result<i64, Failure> {
    gateway.charge(job.key().as_str()).await;
    mark_paid(job.tx().await?, order_id).await?;
    Ok(order_id)
}

/// The condition comes before the guard, and replay before both.
async fn replay_comes_before_the_condition_and_the_guard(world: World<Db>) {
    let gateway = Gateway::default();
    world
        .run("UPDATE orders SET cancelled = TRUE, paid = TRUE WHERE id = 1")
        .await;
    let call = async |id| both(&world.store, &gateway, id).await.unwrap();
    assert_eq!(call(1).await, Outcome::Skipped(Skip::Condition));
    world
        .run("UPDATE orders SET cancelled = FALSE WHERE id = 1")
        .await;
    assert_eq!(call(1).await, Outcome::Skipped(Skip::Guard));
    assert_eq!(call(2).await, Outcome::Performed(2));
    world
        .run("UPDATE orders SET cancelled = TRUE WHERE id = 2")
        .await;
    assert_eq!(call(2).await, Outcome::Replayed(2));
    assert_eq!((gateway.requests(), world.rows("both_1").await), (1, 0));
}

async fn receipt(conn: &mut Conn, order_id: i64) -> sqlx::Result<Receipt> {
    let total = sqlx::query_scalar(sql("SELECT total FROM orders WHERE id = ?"))
        .bind(order_id)
        .fetch_one(conn)
        .await?;
    Ok(Receipt {
        id: "existing".to_owned(),
        total,
    })
}

async fn surely_paid(conn: &mut Conn, order_id: i64) -> sqlx::Result<bool> {
    Ok(paid(conn, order_id).await?.unwrap_or(false))
}

#[idempotent(key = "pay_<order_id>", guard = surely_paid, existing = receipt)]
async fn pay_or_load(conn: &mut Conn, order_id: i64) -> Result<Receipt, Failure> {
    leave(&mut *conn, "pay_or_load").await?;
    mark_paid(conn, order_id).await?;
    Ok(Receipt::of(order_id))
}

/// `existing`: where the guard says "done" and no result is stored, the value that exists answers.
async fn the_guard_answers_with_what_exists(world: World<Db>) {
    world
        .run("UPDATE orders SET paid = TRUE WHERE id = 1")
        .await;
    for _ in 0..2 {
        // No skip to match: with `existing`, a guard cannot make this job skip.
        let (Outcome::Performed(found) | Outcome::Replayed(found)) =
            pay_or_load(&world.store, 1).await.unwrap();
        assert_eq!((&*found.id, found.total), ("existing", 100));
        assert_eq!(world.rows("pay_1").await, 0);
    }
    assert_eq!(
        pay_or_load(&world.store, 2).await.unwrap(),
        Outcome::Performed(Receipt::of(2))
    );
    assert_eq!(
        pay_or_load(&world.store, 2).await.unwrap(),
        Outcome::Replayed(Receipt::of(2))
    );
    assert_eq!(world.effects("pay_or_load").await, 1);
}

#[idempotent(key = "loaded_<order_id>", guard = paid, existing = receipt, missing)]
async fn pay_or_miss(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<Receipt, Failure> {
    gateway.charge(job.key().as_str()).await;
    mark_paid(job.tx().await?, order_id).await?;
    Ok(Receipt::of(order_id))
}

/// `existing` with `missing`, in a leased job: a record that is not there is still a skip.
async fn a_missing_record_is_not_what_exists(world: World<Db>) {
    let gateway = Gateway::default();
    world
        .run("UPDATE orders SET paid = TRUE WHERE id = 1")
        .await;
    let call = async |id| pay_or_miss(&world.store, &gateway, id).await.unwrap();
    assert_eq!(call(99).await, Outcome::Skipped(Skip::Missing));
    assert_eq!(
        call(1).await.value().map(|receipt| receipt.id),
        Some("existing".to_owned())
    );
    assert_eq!(call(2).await, Outcome::Performed(Receipt::of(2)));
    assert_eq!(gateway.requests(), 1);
    assert_eq!(
        (world.rows("loaded_1").await, world.rows("loaded_99").await),
        (0, 0)
    );
}

#[idempotent(key = "forgets_<order_id>", guard = paid, ignore(marks))]
async fn forgets_its_mark(conn: &mut Conn, order_id: i64, marks: bool) -> Result<i64, Failure> {
    leave(&mut *conn, "forgets").await?;
    if marks {
        mark_paid(conn, order_id).await?;
    }
    Ok(order_id)
}

/// A job that does not leave the mark that its guard reads is refused, and nothing is committed.
async fn a_guard_is_held_to_its_word(world: World<Db>) {
    for _ in 0..2 {
        let unmet = forgets_its_mark(&world.store, 1, false).await.unwrap_err();
        let Error::GuardUnmet { job, guard, .. } = unmet.runtime() else {
            panic!("{unmet:?}");
        };
        assert_eq!((&**job, *guard), ("forgets_its_mark", "paid"));
        assert!(!unmet.runtime().is_retryable());
        assert_eq!(
            (
                world.effects("forgets").await,
                world.rows("forgets_1").await
            ),
            (0, 0)
        );
    }
    let done = forgets_its_mark(&world.store, 1, true).await.unwrap();
    assert_eq!(done, Outcome::Performed(1));
}

/// A guard may be asked about other arguments than the key's, and `None` after the body is met.
async fn a_guard_can_be_given_other_arguments(world: World<Db>) {
    async fn is_gone(conn: &mut Conn, name: String, id: i64) -> sqlx::Result<Option<bool>> {
        assert_eq!(name, "purge");
        let found = paid(conn, id).await?;
        Ok(found.map(|_| false))
    }
    #[idempotent(key = "remove_<name>_<id>", guard = is_gone(name, id))]
    async fn remove(conn: &mut Conn, id: i64, name: String) -> Result<String, Failure> {
        sqlx::query(sql("DELETE FROM orders WHERE id = ?"))
            .bind(id)
            .execute(conn)
            .await?;
        Ok(name)
    }
    let call = async |id| remove(&world.store, id, "purge".to_owned()).await.unwrap();
    assert_eq!(call(99).await, Outcome::Skipped(Skip::Missing));
    assert_eq!(call(1).await, Outcome::Performed("purge".to_owned()));
    assert_eq!(call(1).await, Outcome::Replayed("purge".to_owned()));
}

idempotent_tests::tests!(
    a_condition_is_asked_before_and_never_after,
    replay_comes_before_the_condition_and_the_guard,
    the_guard_answers_with_what_exists,
    a_missing_record_is_not_what_exists,
    a_guard_is_held_to_its_word,
    a_guard_can_be_given_other_arguments,
);
