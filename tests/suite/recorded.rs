//! What a step recorded: a retry gets it as the first attempt did, or an error that names the step;
//! and only the attempt that holds the key records anything.

use std::fmt::Debug;
use std::sync::Mutex;

use idempotent_runtime::{Error, Job, Outcome, Store, idempotent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::business::{Failure, Gateway, leave};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase, World};

/// One step of either kind, which leaves an effect and gives the value; then the job fails, or ends.
#[idempotent(key = "stored_<name>", ignore(value, in_tx, fail))]
async fn stored<T: Serialize + DeserializeOwned + Clone>(
    job: &mut Job<'_, Db>,
    seen: &Mutex<Vec<T>>,
    name: &str,
    value: T,
    in_tx: bool,
    fail: bool,
) -> Result<(), Failure> {
    let value = if in_tx {
        job.tx_step("charge", async |conn: &mut Conn| {
            leave(conn, name).await?;
            Ok::<_, Failure>(value)
        })
        .await??
    } else {
        let pool = job.pool().clone();
        job.step("charge", async |_| {
            leave(&mut *pool.acquire().await?, name).await?;
            Ok::<_, Failure>(value)
        })
        .await??
    };
    seen.lock().unwrap().push(value);
    match fail {
        true => Err(Failure::Refused("after the step")),
        false => Ok(()),
    }
}

/// The error of one call, whose step gives the value.
async fn refused<T>(store: &Store<Db>, name: &str, value: T, in_tx: bool) -> Failure
where
    T: Serialize + DeserializeOwned + Clone + Debug,
{
    let seen = Mutex::default();
    let error = stored(store, &seen, name, value, in_tx, false).await;
    assert!(seen.into_inner().unwrap().is_empty());
    error.unwrap_err()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Receipt {
    total: i64,
    #[serde(skip)]
    note: String,
}

fn receipt(note: &str) -> Receipt {
    Receipt {
        total: 7,
        note: note.to_owned(),
    }
}

/// What `Deserialize` fills in is in the first answer already; and another process reads the same.
async fn the_first_attempt_sees_what_a_retry_sees(world: World<Db>) {
    let another = world.another(1).await;
    for (name, in_tx) in [("step", false), ("tx_step", true)] {
        let seen = Mutex::default();
        let first = stored(&world.store, &seen, name, receipt("fresh"), in_tx, true).await;
        assert!(matches!(first, Err(Failure::Refused(_))), "{first:?}");
        for (store, fail) in [(&world.store, true), (&another, false)] {
            let again = stored(store, &seen, name, receipt("another"), in_tx, fail).await;
            assert_eq!(again.is_err(), fail);
        }
        assert_eq!(
            *seen.lock().unwrap(),
            [receipt(""), receipt(""), receipt("")]
        );
        assert_eq!(world.effects(name).await, 1);
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Renamed {
    sum: i64,
}

/// A deploy changed what the step gives: nothing is repeated, and the deploy before it goes on.
async fn what_cannot_be_decoded_is_an_error_that_names_the_step(world: World<Db>) {
    for (name, in_tx) in [("step", false), ("tx_step", true)] {
        let seen = Mutex::default();
        let first = stored(&world.store, &seen, name, receipt(""), in_tx, true).await;
        assert!(first.is_err());
        let error = refused(&world.store, name, "text".to_owned(), in_tx).await;
        let Error::Decode { path, .. } = error.runtime() else {
            panic!("{error}");
        };
        assert_eq!(path, "step charge");
        let error = refused(&world.store, name, Renamed { sum: 1 }, in_tx).await;
        assert!(
            error.to_string().contains("step charge") && error.to_string().contains("sum"),
            "{error}"
        );
        let back = stored(&world.store, &seen, name, receipt(""), in_tx, false).await;
        assert_eq!(back.unwrap(), Outcome::Performed(()));
        assert_eq!(world.effects(name).await, 1);
    }
}

/// As with results: refused before the step's writes are committed.
async fn what_json_would_bend_is_refused_by_the_steps_name(world: World<Db>) {
    for (name, in_tx, left) in [("step", false, 1), ("tx_step", true, 0)] {
        let error = refused(&world.store, name, f64::NAN, in_tx).await;
        let Error::Encode { what, .. } = error.runtime() else {
            panic!("{error}");
        };
        assert_eq!(what, "the result of step `charge`");
        assert_eq!(world.effects(name).await, left, "{name}");
        // Nothing was recorded: the next attempt runs the step.
        let seen = Mutex::default();
        let done = stored(&world.store, &seen, name, 0.1, in_tx, false).await;
        assert!(done.unwrap().is_performed());
        assert_eq!(*seen.lock().unwrap(), [0.1]);
        assert_eq!(world.effects(name).await, left + 1, "{name}");
    }
}

async fn a_result_over_the_limit_is_refused_by_the_steps_key(world: World<Db>) {
    let small = world.store.clone().result_limit(100);
    for (name, in_tx, left) in [("step", false, 1), ("tx_step", true, 0)] {
        let error = refused(&small, name, "x".repeat(99), in_tx).await;
        let Error::ResultTooLarge { key, size, limit } = error.runtime() else {
            panic!("{error}");
        };
        assert_eq!(key.as_str(), format!("stored_{name}/charge"));
        assert_eq!((*size, *limit), (101, 100));
        assert_eq!(world.effects(name).await, left, "{name}");
        let seen = Mutex::default();
        let fits = stored(&small, &seen, name, "x".repeat(98), in_tx, true).await;
        assert!(matches!(fits, Err(Failure::Refused(_))), "{fits:?}");
        // A limit is for what is recorded from now on: what is there replays.
        let smaller = world.store.clone().result_limit(50);
        let done = stored(&smaller, &seen, name, String::new(), in_tx, false).await;
        assert!(done.unwrap().is_performed());
        assert_eq!(*seen.lock().unwrap(), ["x".repeat(98), "x".repeat(98)]);
    }
}

/// Whose step waits for the gateway, within its transaction or without one.
#[idempotent(key = "overtaken_<in_tx>", lease = 30s, ignore(who))]
async fn waits_in_a_step(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    in_tx: bool,
    who: &str,
) -> Result<String, Failure> {
    if in_tx {
        job.tx_step("charge", async |conn: &mut Conn| {
            leave(conn, who).await?;
            gateway.charge("in a transaction").await;
            Ok(who.to_owned())
        })
        .await?
    } else {
        job.step("charge", async |key| {
            gateway.charge(key.as_str()).await;
            Ok(who.to_owned())
        })
        .await?
    }
}

/// Recorded under the fence: what an overtaken attempt comes back with is not what a retry gets.
async fn a_step_of_an_overtaken_attempt_records_nothing(world: World<Db>) {
    // Where there is one writer, nobody takes over while a step's transaction is open.
    for in_tx in [false, true]
        .into_iter()
        .filter(|in_tx| !in_tx || !Db::ONE_WRITER)
    {
        let (held, open) = (Gateway::held(), Gateway::default());
        let another = world.another(2).await;
        let second = async {
            held.arrived().await;
            world.end_lease(&format!("overtaken_{in_tx}")).await;
            let second = waits_in_a_step(&another, &open, in_tx, "B").await;
            held.let_go(1);
            second.unwrap()
        };
        let first = waits_in_a_step(&world.store, &held, in_tx, "A");
        let (first, second) = tokio::join!(first, second);
        let lost = first.unwrap_err();
        assert!(
            matches!(lost.runtime(), Error::LeaseLost { .. }),
            "{lost:?}"
        );
        assert_eq!(second, Outcome::Performed("B".to_owned()));
        let replayed = waits_in_a_step(&world.store, &open, in_tx, "C").await;
        assert_eq!(replayed.unwrap(), Outcome::Replayed("B".to_owned()));
        let effects = (world.effects("A").await, world.effects("B").await);
        assert_eq!(effects, (0, i64::from(in_tx)));
    }
}

idempotent_tests::tests!(
    the_first_attempt_sees_what_a_retry_sees,
    what_cannot_be_decoded_is_an_error_that_names_the_step,
    what_json_would_bend_is_refused_by_the_steps_name,
    a_result_over_the_limit_is_refused_by_the_steps_key,
    a_step_of_an_overtaken_attempt_records_nothing,
);
