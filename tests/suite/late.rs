//! Late attempts: what a leftover attempt did outside is looked up, or decided by hand, before
//! anything is repeated.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use idempotent_runtime::{Error, Job, Outcome, Resolution, Skip, idempotent};

use super::business::{Failure, Receipt, leave, mark_paid, paid};
use crate::db::{Conn, Db};
use crate::world::World;

/// An outside world that can be asked what it did, and whose answers may get lost.
#[derive(Default)]
struct Bank {
    /// What a look-up finds.
    known: Mutex<Option<Receipt>>,
    lookups: AtomicUsize,
    charges: AtomicUsize,
    /// The next charge is not made, or its answer does not arrive.
    broken: Mutex<bool>,
    /// The next look-up fails.
    silent: Mutex<bool>,
}

impl Bank {
    fn breaks(&self) {
        *self.broken.lock().unwrap() = true;
    }

    fn charge(&self) -> Result<Receipt, Failure> {
        self.charges.fetch_add(1, Ordering::Relaxed);
        if std::mem::take(&mut *self.broken.lock().unwrap()) {
            return Err(Failure::Refused("the answer was lost"));
        }
        Ok(Receipt::of(1))
    }

    fn look_up(&self) -> Result<Option<Receipt>, Failure> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        if std::mem::take(&mut *self.silent.lock().unwrap()) {
            return Err(Failure::Refused("the bank is silent"));
        }
        Ok(self.known.lock().unwrap().clone())
    }

    fn counts(&self) -> (usize, usize) {
        (
            self.lookups.load(Ordering::Relaxed),
            self.charges.load(Ordering::Relaxed),
        )
    }
}

/// Charges through the bank; a leftover attempt is looked up there.
#[idempotent(key = "late_<order_id>", reconcile = look_up(bank, order_id), key_window = 24h)]
async fn charge_late(
    job: &mut Job<'_, Db>,
    bank: &Bank,
    order_id: i64,
) -> Result<Receipt, Failure> {
    let receipt = bank.charge()?;
    leave(job.tx().await?, "late").await?;
    Ok(receipt)
}

async fn look_up(
    job: &mut Job<'_, Db>,
    bank: &Bank,
    order_id: i64,
) -> Result<Option<Receipt>, Failure> {
    assert_eq!(job.key().as_str(), format!("late_{order_id}"));
    let found = bank.look_up()?;
    if found.is_some() {
        // What the job would have written comes with what was found.
        leave(job.tx().await?, "found").await?;
    }
    Ok(found)
}

async fn a_first_attempt_is_not_looked_up(world: World<Db>) {
    let bank = Bank::default();
    let first = charge_late(&world.store, &bank, 1).await.unwrap();
    assert_eq!(first, Outcome::Performed(Receipt::of(1)));
    assert_eq!(bank.counts(), (0, 1));
}

async fn what_is_found_completes_the_key_and_is_replayed(world: World<Db>) {
    let bank = Bank::default();
    bank.breaks();
    charge_late(&world.store, &bank, 1).await.unwrap_err();
    *bank.known.lock().unwrap() = Some(Receipt::of(7));
    for _ in 0..2 {
        let outcome = charge_late(&world.store, &bank, 1).await.unwrap();
        assert_eq!(outcome, Outcome::Replayed(Receipt::of(7)));
    }
    // Another process reads the same.
    let another = world.another(1).await;
    let outcome = charge_late(&another, &bank, 1).await.unwrap();
    assert_eq!(outcome, Outcome::Replayed(Receipt::of(7)));
    assert_eq!(bank.counts(), (1, 1));
    assert_eq!(
        (world.effects("found").await, world.effects("late").await),
        (1, 0)
    );
}

async fn where_nothing_is_found_the_body_runs(world: World<Db>) {
    let bank = Bank::default();
    bank.breaks();
    charge_late(&world.store, &bank, 1).await.unwrap_err();
    let outcome = charge_late(&world.store, &bank, 1).await.unwrap();
    assert_eq!(outcome, Outcome::Performed(Receipt::of(1)));
    assert_eq!(bank.counts(), (1, 2));
    assert_eq!(world.effects("late").await, 1);
}

/// The look-up's error is the caller's; the key is free, and the next call asks again.
async fn a_look_up_that_fails_runs_nothing(world: World<Db>) {
    let bank = Bank::default();
    bank.breaks();
    charge_late(&world.store, &bank, 1).await.unwrap_err();
    *bank.silent.lock().unwrap() = true;
    let error = charge_late(&world.store, &bank, 1).await.unwrap_err();
    assert!(matches!(error, Failure::Refused("the bank is silent")));
    assert_eq!(bank.counts(), (1, 1));
    *bank.known.lock().unwrap() = Some(Receipt::of(7));
    let outcome = charge_late(&world.store, &bank, 1).await.unwrap();
    assert_eq!(outcome, Outcome::Replayed(Receipt::of(7)));
    assert_eq!(bank.counts(), (2, 1));
}

/// With a look-up, age alone refuses nothing: the bank may have forgotten the key, and is asked.
async fn an_old_attempt_is_looked_up(world: World<Db>) {
    for (order_id, known) in [(1, Some(Receipt::of(7))), (2, None)] {
        let bank = Bank::default();
        bank.breaks();
        charge_late(&world.store, &bank, order_id)
            .await
            .unwrap_err();
        world.age(&format!("late_{order_id}")).await;
        bank.known.lock().unwrap().clone_from(&known);
        let outcome = charge_late(&world.store, &bank, order_id).await.unwrap();
        match known {
            Some(found) => assert_eq!(outcome, Outcome::Replayed(found)),
            None => assert_eq!(outcome, Outcome::Performed(Receipt::of(1))),
        }
        assert_eq!(bank.counts().0, 1);
    }
}

/// Asks before the body, after the guard: what the guard knows is not asked again.
#[idempotent(key = "guarded_<order_id>", guard = paid, reconcile = look_up_guarded(bank, order_id))]
async fn guarded_late(
    job: &mut Job<'_, Db>,
    bank: &Bank,
    order_id: i64,
) -> Result<Receipt, Failure> {
    let receipt = bank.charge()?;
    mark_paid(job.tx().await?, order_id).await?;
    Ok(receipt)
}

async fn look_up_guarded(
    _: &mut Job<'_, Db>,
    bank: &Bank,
    _: i64,
) -> Result<Option<Receipt>, Failure> {
    bank.look_up()
}

async fn the_guard_comes_before_the_look_up(world: World<Db>) {
    let bank = Bank::default();
    bank.breaks();
    guarded_late(&world.store, &bank, 42).await.unwrap_err();
    world
        .run("UPDATE orders SET paid = TRUE WHERE id = 42")
        .await;
    assert_eq!(
        guarded_late(&world.store, &bank, 42).await.unwrap(),
        Outcome::Skipped(Skip::Guard)
    );
    assert_eq!(bank.counts(), (0, 1));
    assert_eq!(
        world.rows("guarded_42").await,
        1,
        "the leftover's row stays"
    );
}

/// Without a look-up; the outside world forgets keys after a day.
#[idempotent(key = "window_<order_id>", key_window = 24h)]
async fn windowed(job: &mut Job<'_, Db>, bank: &Bank, order_id: i64) -> Result<Receipt, Failure> {
    let receipt = bank.charge()?;
    leave(job.tx().await?, "windowed").await?;
    Ok(receipt)
}

/// 33: an old leftover attempt is not repeated blindly, and each way to decide on it works.
async fn an_old_attempt_waits_for_a_decision(world: World<Db>) {
    for order_id in 1..=3 {
        let key = format!("window_{order_id}");
        let bank = Bank::default();
        bank.breaks();
        windowed(&world.store, &bank, order_id).await.unwrap_err();
        world.age(&key).await;
        let error = windowed(&world.store, &bank, order_id).await.unwrap_err();
        assert!(
            matches!(error.runtime(), Error::KeyWindowPassed { .. }),
            "{error}"
        );
        assert_eq!(bank.counts().1, 1);
        let (resolution, then, charges) = match order_id {
            1 => (
                Resolution::Complete(Receipt::of(7)),
                Outcome::Replayed(Receipt::of(7)),
                1,
            ),
            2 => (Resolution::Forget, Outcome::Performed(Receipt::of(1)), 2),
            _ => (Resolution::RunAgain, Outcome::Performed(Receipt::of(1)), 2),
        };
        world.store.resolve(&key, resolution).await.unwrap();
        let outcome = windowed(&world.store, &bank, order_id).await.unwrap();
        assert_eq!(outcome, then);
        assert_eq!(bank.counts().1, charges);
    }
    assert_eq!(world.effects("windowed").await, 2);
}

/// A window of its own: a leftover attempt of a day ago is repeated without a word.
#[idempotent(key = "forever_<order_id>", key_window = forever)]
async fn unforgotten(
    job: &mut Job<'_, Db>,
    bank: &Bank,
    order_id: i64,
) -> Result<Receipt, Failure> {
    let receipt = bank.charge()?;
    leave(job.tx().await?, "unforgotten").await?;
    Ok(receipt)
}

async fn forever_asks_nobody(world: World<Db>) {
    let bank = Bank::default();
    bank.breaks();
    unforgotten(&world.store, &bank, 1).await.unwrap_err();
    world.age("forever_1").await;
    let outcome = unforgotten(&world.store, &bank, 1).await.unwrap();
    assert!(outcome.is_performed());
}

/// What cannot be decided on is left as it is.
async fn only_what_nobody_holds_can_be_decided_on(world: World<Db>) {
    let bank = Bank::default();
    let unknown = world.store.resolve("window_9", Resolution::FORGET).await;
    assert!(matches!(unknown, Err(Error::NotResolvable { .. })));
    let done = windowed(&world.store, &bank, 9).await.unwrap();
    for refused in [Resolution::Complete(Receipt::of(7)), Resolution::RunAgain] {
        let refused = world.store.resolve("window_9", refused).await;
        assert!(matches!(refused, Err(Error::NotResolvable { .. })));
    }
    assert_eq!(
        windowed(&world.store, &bank, 9).await.unwrap().value(),
        done.value()
    );
    world
        .store
        .resolve("window_9", Resolution::FORGET)
        .await
        .unwrap();
    assert!(
        windowed(&world.store, &bank, 9)
            .await
            .unwrap()
            .is_performed()
    );
}

/// A step before the outside call that fails.
#[idempotent(key = "stepped_<order_id>")]
async fn stepped(job: &mut Job<'_, Db>, bank: &Bank, order_id: i64) -> Result<Receipt, Failure> {
    job.tx_step("note", async |conn: &mut Conn| leave(conn, "note").await)
        .await??;
    bank.charge()
}

/// `RunAgain` keeps what the steps recorded, `Forget` does not.
async fn to_run_again_is_to_go_on_after_the_steps(world: World<Db>) {
    for (order_id, resolution, notes) in [(1, Resolution::RUN_AGAIN, 1), (2, Resolution::FORGET, 3)]
    {
        let bank = Bank::default();
        bank.breaks();
        stepped(&world.store, &bank, order_id).await.unwrap_err();
        world
            .store
            .resolve(format!("stepped_{order_id}"), resolution)
            .await
            .unwrap();
        let outcome = stepped(&world.store, &bank, order_id).await.unwrap();
        assert!(outcome.is_performed());
        assert_eq!(world.effects("note").await, notes);
    }
}

idempotent_tests::tests!(
    a_first_attempt_is_not_looked_up,
    what_is_found_completes_the_key_and_is_replayed,
    where_nothing_is_found_the_body_runs,
    a_look_up_that_fails_runs_nothing,
    an_old_attempt_is_looked_up,
    the_guard_comes_before_the_look_up,
    an_old_attempt_waits_for_a_decision,
    forever_asks_nobody,
    only_what_nobody_holds_can_be_decided_on,
    to_run_again_is_to_go_on_after_the_steps,
);
