//! Results: a retry gets the first answer, whole, or the first call is refused in time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use idempotent_runtime::{Error, Job, Outcome, idempotent};
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use super::business::{Failure, leave};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "give_<name>", ignore(value))]
async fn give<T: Serialize + DeserializeOwned>(
    conn: &mut Conn,
    name: &str,
    value: T,
) -> Result<T, Failure> {
    leave(conn, name).await?;
    Ok(value)
}

#[idempotent(key = "leased_<name>", ignore(value))]
async fn give_leased<T: Serialize + DeserializeOwned>(
    job: &mut Job<'_, Db>,
    name: &str,
    value: T,
) -> Result<T, Failure> {
    leave(job.tx().await?, name).await?;
    Ok(value)
}

async fn comes_back<T>(world: &World<Db>, name: &str, value: T, other: T)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug + Clone,
{
    for (call, count) in [(0, 1), (1, 2)] {
        let (first, second) = match call {
            0 => (
                give(&world.store, name, value.clone()).await.unwrap(),
                give(&world.store, name, other.clone()).await.unwrap(),
            ),
            _ => (
                give_leased(&world.store, name, value.clone())
                    .await
                    .unwrap(),
                give_leased(&world.store, name, other.clone())
                    .await
                    .unwrap(),
            ),
        };
        assert_eq!(first, Outcome::Performed(value.clone()), "{name}");
        assert_eq!(second, Outcome::Replayed(value.clone()), "{name}");
        assert_eq!(world.effects(name).await, count, "{name}");
    }
}

/// R1: nothing is too little to be a result; R5: and the largest integers are exact.
async fn results_replay_as_themselves(world: World<Db>) {
    comes_back(&world, "zero", 0, 1).await;
    comes_back(&world, "false", false, true).await;
    comes_back(&world, "text", String::new(), "x".to_owned()).await;
    comes_back(&world, "list", Vec::new(), vec![1]).await;
    comes_back(&world, "none", None, Some(1)).await;
    comes_back(&world, "some", Some(0), None).await;
    comes_back(&world, "nothing", (), ()).await;
    comes_back(&world, "least", i128::MIN, 0).await;
    comes_back(&world, "most", u128::MAX, 0).await;
    comes_back(&world, "float", 0.1_f64 + 0.2, 0.3).await;
    comes_back(&world, "tiny", f64::MIN_POSITIVE / 4.0, 0.0).await;
    comes_back(&world, "minus", -0.0_f64, 1.0).await;
    comes_back(
        &world,
        "emoji",
        "😀 e\u{301} \0 \u{202e}".to_owned(),
        String::new(),
    )
    .await;
    comes_back(&world, "deep", Some(Some(1)), None).await;
    comes_back(&world, "set", BTreeSet::from([1, 2]), BTreeSet::new()).await;
    let map = BTreeMap::from([("a".to_owned(), Some(1)), ("b".to_owned(), None)]);
    comes_back(&world, "map", map, BTreeMap::new()).await;
}

/// R3: 70 KB and 5 MB come back byte for byte.
async fn large_results_are_never_cut(world: World<Db>) {
    for (name, size) in [("70 KB", 70 * 1024), ("5 MB", 5 * 1024 * 1024)] {
        // Every printable character, escapes among them, and some that take four bytes.
        let text: String = (0_u32..)
            .map(|n| char::from(b' ' + u8::try_from(n % 95).unwrap_or(0)))
            .take(size - 4)
            .collect();
        comes_back(&world, name, format!("{text}😀"), String::new()).await;
    }
}

/// Refuses to be written while it is broken.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Written {
    broken: bool,
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.broken {
            true => Err(ser::Error::custom("cannot be written")),
            false => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer).map(|broken| Self { broken })
    }
}

/// Refuses to be read while it is broken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Read {
    broken: bool,
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            broken: bool,
        }
        match Stored::deserialize(deserializer)?.broken {
            true => Err(de::Error::custom("cannot be read")),
            false => Ok(Self { broken: false }),
        }
    }
}

async fn is_refused<T>(world: &World<Db>, name: &str, value: T, says: &str)
where
    T: Serialize + DeserializeOwned + Debug,
{
    let error = give(&world.store, name, value).await.unwrap_err();
    let Error::Encode { what, problem } = error.runtime() else {
        panic!("{name}: {error:?}");
    };
    assert_eq!(what, "the result of job `give`");
    assert!(problem.contains(says), "{name}: {problem}");
    assert!(!error.runtime().is_retryable());
    assert_eq!(world.effects(name).await, 0, "{name}");
    assert_eq!(world.rows(&format!("give_{name}")).await, 0, "{name}");
}

/// R2: a result that cannot be written or read is refused before the commit; 20: and after a fix the
/// retry succeeds.
async fn what_cannot_be_stored_undoes_the_job(world: World<Db>) {
    is_refused(
        &world,
        "written",
        Written { broken: true },
        "cannot be written",
    )
    .await;
    is_refused(
        &world,
        "read",
        Read { broken: true },
        "does not decode again",
    )
    .await;
    let fixed = give(&world.store, "written", Written { broken: false }).await;
    assert!(fixed.unwrap().is_performed());
    let fixed = give(&world.store, "read", Read { broken: false }).await;
    assert!(fixed.unwrap().is_performed());
    assert_eq!(
        world.effects("written").await + world.effects("read").await,
        2
    );
}

/// R2: the same in a leased job, whose key is free at once.
async fn what_cannot_be_stored_releases_the_key(world: World<Db>) {
    for name in ["written", "again"] {
        let error = give_leased(&world.store, name, Written { broken: true }).await;
        assert!(matches!(error.unwrap_err().runtime(), Error::Encode { .. }));
    }
    assert_eq!(world.effects("written").await, 0);
    let fixed = give_leased(&world.store, "written", Written { broken: false }).await;
    assert!(fixed.unwrap().is_performed());
    assert_eq!(world.effects("written").await, 1);
}

/// R5: what JSON would bend silently is refused; 20: no round trip, no commit.
async fn what_json_would_bend_is_refused(world: World<Db>) {
    is_refused(&world, "nan", f64::NAN, "not finite").await;
    is_refused(
        &world,
        "infinite",
        vec![1.0, f64::NEG_INFINITY],
        "not finite",
    )
    .await;
    is_refused(&world, "some none", Some(None::<i64>), "`Some`").await;
    is_refused(&world, "some unit", Some(()), "`Some`").await;
    is_refused(
        &world,
        "numbers",
        BTreeMap::from([(1, "a".to_owned())]),
        "string",
    )
    .await;
}

/// 22: a result over the limit is refused before the commit, with its size.
async fn a_result_over_the_limit_is_refused(world: World<Db>) {
    let small = world.store.clone().result_limit(100);
    let text = "x".repeat(99);
    for leased in [false, true] {
        let error = match leased {
            false => give(&small, "long", text.clone()).await,
            true => give_leased(&small, "long", text.clone()).await,
        };
        let error = error.unwrap_err();
        assert!(
            matches!(
                error.runtime(),
                Error::ResultTooLarge {
                    size: 101,
                    limit: 100,
                    ..
                }
            ),
            "{error:?}"
        );
        assert_eq!(world.effects("long").await, 0);
    }
    // As large as the limit, quotes included; and with the default of 16 MiB.
    assert!(
        give(&small, "fits", "x".repeat(98))
            .await
            .unwrap()
            .is_performed()
    );
    assert!(
        give(&world.store, "long", text.clone())
            .await
            .unwrap()
            .is_performed()
    );
    assert!(
        give_leased(&world.store, "long", text)
            .await
            .unwrap()
            .is_performed()
    );
    let huge = "x".repeat(idempotent_runtime::DEFAULT_RESULT_LIMIT);
    let error = give(&world.store, "huge", huge).await.unwrap_err();
    assert!(
        matches!(error.runtime(), Error::ResultTooLarge { .. }),
        "{error:?}"
    );
    // A limit is for what is stored from now on: what is there replays.
    assert!(
        give(&small, "long", String::new())
            .await
            .unwrap()
            .is_replayed()
    );
}

/// The first answer is the decoded one: what `Deserialize` fills in is in it already.
async fn the_first_answer_is_the_one_that_replays(world: World<Db>) {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Cached {
        total: i64,
        #[serde(skip)]
        cache: Option<i64>,
    }
    let value = Cached {
        total: 1,
        cache: Some(9),
    };
    let stored = Cached {
        total: 1,
        cache: None,
    };
    let first = give(&world.store, "cached", value.clone()).await.unwrap();
    assert_eq!(first, Outcome::Performed(stored.clone()));
    let second = give(&world.store, "cached", value).await.unwrap();
    assert_eq!(second, Outcome::Replayed(stored));
}

idempotent_tests::tests!(
    results_replay_as_themselves,
    large_results_are_never_cut,
    what_cannot_be_stored_undoes_the_job,
    what_cannot_be_stored_releases_the_key,
    what_json_would_bend_is_refused,
    a_result_over_the_limit_is_refused,
    the_first_answer_is_the_one_that_replays,
);
