//! Clocks that jump: only the database's counts, and where that one jumps, the fence and the outside
//! key hold. (On SQLite it is the worker's own.) A jump is told by moving the ledger's times.

use std::time::Duration;

use idempotent_runtime::{Error, Job, Outcome, idempotent};

use super::business::{Failure, Gateway, leave};
use crate::db::Db;
use crate::world::{TestDatabase as _, World};

#[idempotent(key = "timed_<id>", lease = 30s, wait = 0s, retain = 30m, ignore(who))]
async fn timed(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    id: i64,
    who: &str,
) -> Result<String, Failure> {
    gateway.charge(job.key().as_str()).await;
    leave(job.tx().await?, who).await?;
    Ok(format!("{id} by {who}"))
}

/// 10: an hour ahead, in the middle of a body: others take over early, fenced, with the same key.
async fn an_hour_ahead_takes_over_early(world: World<Db>) {
    let (held, open) = (Gateway::held(), Gateway::default());
    let another = world.another(2).await;
    let (first, ()) = tokio::join!(timed(&world.store, &held, 1, "A"), async {
        held.arrived().await;
        world.change(Db::AN_HOUR_AHEAD, "timed_1").await;
        assert_eq!(
            timed(&another, &open, 1, "B").await.unwrap(),
            Outcome::Performed("1 by B".to_owned())
        );
        held.let_go(1);
    });
    let lost = first.unwrap_err();
    assert!(
        matches!(lost.runtime(), Error::LeaseLost { .. }),
        "{lost:?}"
    );
    assert_eq!((world.effects("A").await, world.effects("B").await), (0, 1));
    assert_eq!(held.keys(), open.keys());
    assert_eq!(world.fence("timed_1").await, 2);
}

/// 10: an hour ahead of a key that is kept for half an hour: it is forgotten early, and the job runs
/// again with the same key, so that the outside world charges once.
async fn an_hour_ahead_purges_early(world: World<Db>) {
    let gateway = Gateway::default();
    assert!(
        timed(&world.store, &gateway, 1, "A")
            .await
            .unwrap()
            .is_performed()
    );
    assert_eq!(world.store.purge().await.unwrap(), 0);
    world.change(Db::AN_HOUR_AHEAD, "timed_1").await;
    assert_eq!(world.store.purge().await.unwrap(), 1);
    assert!(
        timed(&world.store, &gateway, 1, "B")
            .await
            .unwrap()
            .is_performed()
    );
    assert_eq!((gateway.requests(), gateway.charges()), (2, 1));
}

/// 10: an hour back: a lease seems to last an hour longer. Others are told how long, the one at work
/// completes as ever, and what was done is replayed.
async fn an_hour_back_keeps_others_busy(world: World<Db>) {
    let (held, open) = (Gateway::held(), Gateway::default());
    let another = world.another(2).await;
    let (first, ()) = tokio::join!(timed(&world.store, &held, 1, "A"), async {
        held.arrived().await;
        world.change(Db::AN_HOUR_BACK, "timed_1").await;
        let busy = timed(&another, &open, 1, "B").await.unwrap_err();
        assert!(
            matches!(busy.runtime(), Error::Busy { retry_after, .. }
                if *retry_after > Duration::from_secs(3000)),
            "{busy:?}"
        );
        held.let_go(1);
    });
    assert_eq!(first.unwrap(), Outcome::Performed("1 by A".to_owned()));
    assert_eq!(
        timed(&another, &open, 1, "B").await.unwrap(),
        Outcome::Replayed("1 by A".to_owned())
    );
    assert_eq!((world.effects("A").await, open.requests()), (1, 0));
}

idempotent_tests::tests!(
    an_hour_ahead_takes_over_early,
    an_hour_ahead_purges_early,
    an_hour_back_keeps_others_busy,
);
