//! Leases: kept by who is alive, taken over from who is not, and fenced.

use std::time::Duration;

use idempotent_runtime::{Error, Job, Outcome, idempotent};
use tokio::time::{Instant, sleep};

use super::business::{Failure, Gateway, leave};
use crate::db::Db;
use crate::world::World;

/// A leased job that says who ran it.
#[idempotent(key = "told_<id>", lease = 30s, wait = 0s, ignore(who))]
async fn told(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    id: i64,
    who: &str,
) -> Result<String, Failure> {
    gateway.charge(job.key().as_str()).await;
    leave(job.tx().await?, who).await?;
    Ok(format!("{id} by {who}"))
}

/// The same with a short lease.
#[idempotent(key = "short_lease_<id>", lease = 1s, wait = 0s, ignore(who))]
async fn short_lease(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    id: i64,
    who: &str,
) -> Result<String, Failure> {
    gateway.charge(job.key().as_str()).await;
    leave(job.tx().await?, who).await?;
    Ok(format!("{id} by {who}"))
}

/// L3: the lease of a body that is alive is renewed for as long as it runs.
async fn a_live_lease_is_renewed(world: World<Db>) {
    let gateway = Gateway::held();
    let another = world.another(2).await;
    let (first, ()) = tokio::join!(short_lease(&world.store, &gateway, 1, "A"), async {
        gateway.arrived().await;
        // Three leases long: time itself is what is tested here.
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end {
            let refusal = short_lease(&another, &gateway, 1, "B").await.unwrap_err();
            assert!(
                matches!(refusal.runtime(), Error::Busy { retry_after, .. }
                    if *retry_after <= Duration::from_secs(1)),
                "{refusal:?}"
            );
            sleep(Duration::from_millis(50)).await;
        }
        gateway.let_go(1);
    });
    assert_eq!(first.unwrap(), Outcome::Performed("1 by A".to_owned()));
    assert_eq!(
        (gateway.requests(), world.fence("short_lease_1").await),
        (1, 1)
    );
    assert_eq!((world.effects("A").await, world.effects("B").await), (1, 0));
}

/// L2: who wakes after a takeover completes nothing, 7: and its writes are undone; 10: the same
/// where a clock that jumped ended the lease.
async fn a_completion_after_a_takeover_is_refused(world: World<Db>) {
    let (held, open) = (Gateway::held(), Gateway::default());
    let another = world.another(2).await;
    let (first, ()) = tokio::join!(told(&world.store, &held, 1, "A"), async {
        held.arrived().await;
        world.end_lease("told_1").await;
        assert_eq!(
            told(&another, &open, 1, "B").await.unwrap(),
            Outcome::Performed("1 by B".to_owned())
        );
        held.let_go(1);
    });
    let lost = first.unwrap_err();
    assert!(
        matches!(lost.runtime(), Error::LeaseLost { key } if key.as_str() == "told_1"),
        "{lost:?}"
    );
    assert!(lost.runtime().is_retryable());
    assert_eq!((world.effects("A").await, world.effects("B").await), (0, 1));
    assert_eq!(
        (held.keys(), open.keys()),
        (vec!["told_1".to_owned()], vec!["told_1".to_owned()])
    );
    assert_eq!(world.fence("told_1").await, 2);
    assert_eq!(
        told(&world.store, &held, 1, "A").await.unwrap(),
        Outcome::Replayed("1 by B".to_owned())
    );
}

/// A lost lease stops the body at the next heartbeat, and the heartbeat does not keep the other's.
async fn a_lost_lease_stops_the_body(world: World<Db>) {
    let (held, other) = (Gateway::held(), Gateway::held());
    let another = world.another(2).await;
    let first = async {
        let lost = short_lease(&world.store, &held, 1, "A").await.unwrap_err();
        assert!(
            matches!(lost.runtime(), Error::LeaseLost { .. }),
            "{lost:?}"
        );
        // Nobody let its charge go: the heartbeat ended it. B is still at work.
        other.let_go(1);
    };
    let second = async {
        held.arrived().await;
        world.end_lease("short_lease_1").await;
        short_lease(&another, &other, 1, "B").await.unwrap()
    };
    let ((), second) = tokio::join!(first, second);
    assert_eq!(second, Outcome::Performed("1 by B".to_owned()));
    assert_eq!((world.effects("A").await, world.effects("B").await), (0, 1));
}

/// A duplicate that waits takes over when the lease ends, L1: and is busy until then.
async fn a_waiter_takes_over(world: World<Db>) {
    #[idempotent(key = "patient_<id>", lease = 30s, wait = 20s)]
    async fn patient(job: &mut Job<'_, Db>, gateway: &Gateway, id: i64) -> Result<i64, Failure> {
        gateway.charge(job.key().as_str()).await;
        leave(job.tx().await?, "patient").await?;
        Ok(id)
    }
    let (held, open) = (Gateway::held(), Gateway::default());
    let another = world.another(2).await;
    let mut first = Box::pin(patient(&world.store, &held, 1));
    tokio::select! {
        _ = &mut first => panic!("its charge is held"),
        () = held.arrived() => {}
    }
    let waiter = patient(&another, &open, 1);
    let (second, ()) = tokio::join!(waiter, async {
        // The waiter polls; whether it has looked once or twice by now makes no difference.
        tokio::task::yield_now().await;
        assert_eq!(open.requests(), 0);
        world.end_lease("patient_1").await;
    });
    assert!(second.unwrap().is_performed());
    drop(first);
    assert_eq!((open.requests(), world.effects("patient").await), (1, 1));
}

/// 34: other writers change what the guard reads while the body runs.
async fn the_guard_is_asked_again_in_the_completing_transaction(world: World<Db>) {
    use super::business::{charge, paid};

    // Paid by somebody else meanwhile: the work is done, and recorded as done.
    let gateway = Gateway::held();
    let (first, ()) = tokio::join!(charge(&world.store, &gateway, 1), async {
        gateway.arrived().await;
        world
            .run("UPDATE orders SET paid = TRUE WHERE id = 1")
            .await;
        gateway.let_go(1);
    });
    assert!(first.unwrap().is_performed());
    assert!(
        charge(&world.store, &gateway, 1)
            .await
            .unwrap()
            .is_replayed()
    );

    // Gone meanwhile: nothing is left to be done twice.
    let (second, ()) = tokio::join!(charge(&world.store, &gateway, 2), async {
        gateway.arrived().await;
        world.run("DELETE FROM orders WHERE id = 2").await;
        gateway.let_go(1);
    });
    assert!(second.unwrap().is_performed());

    // Undone by the body itself, against its promise.
    #[idempotent(key = "forgetful_<id>", guard = paid, lease = 30s)]
    async fn forgetful(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
        leave(job.tx().await?, "forgetful").await?;
        Ok(id)
    }
    let unmet = forgetful(&world.store, 3).await.unwrap_err();
    assert!(
        matches!(unmet.runtime(), Error::GuardUnmet { .. }),
        "{unmet:?}"
    );
    assert_eq!(world.effects("forgetful").await, 0);
    assert_eq!((gateway.requests(), gateway.charges()), (2, 2));
}

idempotent_tests::tests!(
    a_live_lease_is_renewed,
    a_completion_after_a_takeover_is_refused,
    a_lost_lease_stops_the_body,
    a_waiter_takes_over,
    the_guard_is_asked_again_in_the_completing_transaction,
);
