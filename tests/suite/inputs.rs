//! Inputs: what a call brings beside its key is compared between attempts.

use std::collections::HashMap;

use idempotent_runtime::{Error, Outcome, idempotent};
use serde::Serialize;

use super::business::{Failure, Gateway, leave};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "refund_<order_id>")]
async fn refund(conn: &mut Conn, order_id: i64, amount: i64, reason: &str) -> Result<i64, Failure> {
    leave(conn, "refund").await?;
    Ok(order_id * amount * i64::try_from(reason.len()).unwrap_or(1))
}

/// The names that an attempt was refused for.
fn changed<T: std::fmt::Debug>(result: Result<T, Failure>) -> Vec<String> {
    match result.unwrap_err().runtime() {
        Error::InputMismatch { names, .. } => names.clone(),
        other => panic!("{other:?}"),
    }
}

/// 24: the same key with other inputs is refused, and says which they were.
async fn other_inputs_are_refused_by_name(world: World<Db>) {
    refund(&world.store, 1, 10, "late")
        .await
        .unwrap()
        .into_value();
    assert_eq!(
        changed(refund(&world.store, 1, 11, "late").await),
        ["amount"]
    );
    assert_eq!(
        changed(refund(&world.store, 1, 11, "lost").await),
        ["amount", "reason"]
    );
    assert_eq!(
        refund(&world.store, 1, 10, "late").await.unwrap(),
        Outcome::Replayed(40)
    );
    assert_eq!(world.effects("refund").await, 1);
}

/// 24: the words say nothing of the inputs themselves.
async fn a_refusal_shows_no_values(world: World<Db>) {
    refund(&world.store, 1, 4711, "secret")
        .await
        .unwrap()
        .into_value();
    let refusal = refund(&world.store, 1, 1234, "hidden").await.unwrap_err();
    let words = format!("{refusal} {refusal:?}");
    for value in ["4711", "1234", "secret", "hidden"] {
        assert!(!words.contains(value), "{words}");
    }
}

#[derive(Debug, Serialize)]
struct Order {
    id: i64,
    lines: HashMap<String, i64>,
    note: String,
}

#[idempotent(key = "ship_<order.id>")]
async fn ship_order(conn: &mut Conn, order: Order) -> Result<usize, Failure> {
    leave(conn, "ship").await?;
    Ok(order.lines.len())
}

fn order(names: impl Iterator<Item = u32>, note: &str) -> Order {
    Order {
        id: 1,
        lines: names.map(|n| (format!("line {n}"), n.into())).collect(),
        note: note.to_owned(),
    }
}

/// K8: a map is the same input in whatever order it was filled.
async fn a_map_is_one_input_in_any_order(world: World<Db>) {
    let first = ship_order(&world.store, order(0..100, "n")).await.unwrap();
    assert!(first.is_performed());
    let mut other = order((0..100).rev(), "n");
    other.lines.reserve(10_000);
    assert!(ship_order(&world.store, other).await.unwrap().is_replayed());
    assert_eq!(
        changed(ship_order(&world.store, order(0..99, "n")).await),
        ["order.lines"]
    );
    assert_eq!(
        changed(ship_order(&world.store, order(0..100, "m")).await),
        ["order.note"]
    );
    assert_eq!(world.effects("ship").await, 1);
}

#[idempotent(key = "listed_<order.id>", inputs(order), ignore(trace))]
async fn listed(conn: &mut Conn, order: &Order, trace: u64) -> Result<u64, Failure> {
    leave(conn, "listed").await?;
    Ok(trace + u64::try_from(order.lines.len()).unwrap_or(0))
}

/// `inputs(…)` takes a reference in, `ignore(…)` takes an input out.
async fn lists_say_what_is_compared(world: World<Db>) {
    let (one, other) = (order(0..3, "n"), order(0..4, "n"));
    assert_eq!(
        listed(&world.store, &one, 1).await.unwrap(),
        Outcome::Performed(4)
    );
    assert_eq!(
        listed(&world.store, &one, 2).await.unwrap(),
        Outcome::Replayed(4)
    );
    assert_eq!(
        changed(listed(&world.store, &other, 1).await),
        ["order.lines"]
    );
}

/// A reference is what the work is done with, not what it is.
async fn a_dependency_is_not_compared(world: World<Db>) {
    #[idempotent(key = "depends_<id>")]
    async fn depends(conn: &mut Conn, gateway: &Gateway, id: i64) -> Result<(i64, usize), Failure> {
        leave(conn, "depends").await?;
        Ok((id, gateway.requests()))
    }
    let (one, other) = (Gateway::default(), Gateway::default());
    other.charge("x").await;
    assert_eq!(
        depends(&world.store, &one, 1).await.unwrap(),
        Outcome::Performed((1, 0))
    );
    assert_eq!(
        depends(&world.store, &other, 1).await.unwrap(),
        Outcome::Replayed((1, 0))
    );
}

idempotent_tests::tests!(
    other_inputs_are_refused_by_name,
    a_refusal_shows_no_values,
    a_map_is_one_input_in_any_order,
    lists_say_what_is_compared,
    a_dependency_is_not_compared,
);
