//! Perform, replay, skip: what every job does.

use idempotent_runtime::{Outcome, Skip};

use super::business::{Gateway, Receipt, charge, note, pay};
use crate::db::Db;
use crate::world::World;

async fn a_second_call_replays_the_first(world: World<Db>) {
    assert_eq!(
        pay(&world.store, 42).await.unwrap(),
        Outcome::Performed(Receipt::of(42))
    );
    assert_eq!(
        pay(&world.store, 42).await.unwrap(),
        Outcome::Replayed(Receipt::of(42))
    );
    assert_eq!(
        pay(world.store.clone(), 42).await.unwrap(),
        Outcome::Replayed(Receipt::of(42))
    );
    assert_eq!(world.effects("pay").await, 1);
}

async fn a_leased_job_replays_too(world: World<Db>) {
    let gateway = Gateway::default();
    let first = charge(&world.store, &gateway, 42).await.unwrap();
    let second = charge(&world.store, &gateway, 42).await.unwrap();
    assert!(first.is_performed() && second.is_replayed());
    assert_eq!(first.value(), second.value());
    assert_eq!((gateway.requests(), world.effects("charge").await), (1, 1));
}

async fn a_missing_record_is_skipped_and_leaves_no_key(world: World<Db>) {
    assert_eq!(
        pay(&world.store, 99).await.unwrap(),
        Outcome::Skipped(Skip::Missing)
    );
    let gateway = Gateway::default();
    assert_eq!(
        charge(&world.store, &gateway, 99).await.unwrap(),
        Outcome::Skipped(Skip::Missing)
    );
    assert_eq!(
        (world.rows("order_99").await, world.rows("charge_99").await),
        (0, 0)
    );
    world
        .run("INSERT INTO orders (id, total) VALUES (99, 1)")
        .await;
    assert!(pay(&world.store, 99).await.unwrap().is_performed());
    assert_eq!(gateway.requests(), 0);
}

async fn what_is_done_is_skipped_and_leaves_no_key(world: World<Db>) {
    world
        .run("UPDATE orders SET paid = TRUE WHERE id = 42")
        .await;
    assert_eq!(
        pay(&world.store, 42).await.unwrap(),
        Outcome::Skipped(Skip::Guard)
    );
    assert_eq!(world.rows("order_42").await, 0);
    assert_eq!(world.effects("pay").await, 0);
}

async fn a_job_that_cannot_skip_has_a_total_value(world: World<Db>) {
    let (Outcome::Performed(text) | Outcome::Replayed(text)) =
        note(&world.store, "a").await.unwrap();
    assert_eq!(text, "noted a");
    assert_eq!(
        note(&world.store, "a").await.unwrap().into_value(),
        "noted a"
    );
}

idempotent_tests::tests!(
    a_second_call_replays_the_first,
    a_leased_job_replays_too,
    a_missing_record_is_skipped_and_leaves_no_key,
    what_is_done_is_skipped_and_leaves_no_key,
    a_job_that_cannot_skip_has_a_total_value,
);
