//! Errors and panics: the writes are undone, the key is free, and the caller hears of it.

use idempotent_runtime::{Error, Job, Outcome, idempotent};
use serde::{Deserialize, Serialize, Serializer};

use super::business::{Failure, Gateway, leave, panic_of};
use crate::db::{Conn, Db, sql};
use crate::world::{World, left_open};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Well,
    Error,
    Panic,
    PanicInGuard,
    PanicInSerialize,
}

/// Panics when it is written, if asked to.
#[derive(Debug, PartialEq, Deserialize)]
struct Answer {
    name: String,
    #[serde(skip)]
    explode: bool,
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stored<'a> {
            name: &'a str,
        }
        assert!(!self.explode, "exploded in Serialize");
        Stored { name: &self.name }.serialize(serializer)
    }
}

async fn is_left(conn: &mut Conn, name: &str, how: How) -> sqlx::Result<bool> {
    assert!(how != How::PanicInGuard, "exploded in the guard");
    let left: i64 = sqlx::query_scalar(sql("SELECT count(*) FROM effects WHERE name = ?"))
        .bind(name)
        .fetch_one(conn)
        .await?;
    Ok(left > 0)
}

fn end(how: How, name: &str) -> Result<Answer, Failure> {
    match how {
        How::Error => Err(Failure::Refused("asked to")),
        How::Panic => panic!("exploded in the body"),
        _ => Ok(Answer {
            name: name.to_owned(),
            explode: how == How::PanicInSerialize,
        }),
    }
}

#[idempotent(key = "plain_<name>", guard = is_left(name, how), ignore(how))]
async fn plain(conn: &mut Conn, name: &str, how: How) -> Result<Answer, Failure> {
    leave(conn, name).await?;
    end(how, name)
}

#[idempotent(key = "leased_<name>", guard = is_left(name, how), ignore(how), lease = 30s)]
async fn leased(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    name: &str,
    how: How,
) -> Result<Answer, Failure> {
    gateway.charge(job.key().as_str()).await;
    leave(job.tx().await?, name).await?;
    end(how, name)
}

/// L7: after an error the next call runs, and its writes are the only ones.
async fn after_an_error_the_next_call_runs(world: World<Db>) {
    for _ in 0..3 {
        let error = plain(&world.store, "error", How::Error).await.unwrap_err();
        assert!(matches!(error, Failure::Refused("asked to")), "{error:?}");
        assert_eq!(world.rows("plain_error").await, 0);
    }
    assert_eq!(world.effects("error").await, 0);
    assert!(
        plain(&world.store, "error", How::Well)
            .await
            .unwrap()
            .is_performed()
    );
    assert!(
        plain(&world.store, "error", How::Error)
            .await
            .unwrap()
            .is_replayed()
    );
    assert_eq!(world.effects("error").await, 1);
}

/// L7: the same in a leased job; 40: the gateway had charged, and hears the same key again.
async fn after_an_error_the_outside_hears_the_same_key(world: World<Db>) {
    let gateway = Gateway::default();
    let another = world.another(1).await;
    for store in [&world.store, &another] {
        let error = leased(store, &gateway, "error", How::Error)
            .await
            .unwrap_err();
        assert!(matches!(error, Failure::Refused("asked to")), "{error:?}");
        assert_eq!(world.effects("error").await, 0);
    }
    assert!(
        leased(&another, &gateway, "error", How::Well)
            .await
            .unwrap()
            .is_performed()
    );
    assert_eq!((gateway.requests(), gateway.charges()), (3, 1));
    assert_eq!(world.effects("error").await, 1);
    assert_eq!(world.fence("leased_error").await, 3);
}

/// L5: a panic in the body, in the guard or (19) in `Serialize` undoes the writes, frees the key, and
/// goes on to the caller.
async fn a_panic_undoes_the_job_and_goes_on(world: World<Db>) {
    let store = world.another(1).await;
    for (how, words) in [
        (How::Panic, "exploded in the body"),
        (How::PanicInGuard, "exploded in the guard"),
        (How::PanicInSerialize, "exploded in Serialize"),
    ] {
        let name = format!("{how:?}");
        assert_eq!(panic_of(plain(&store, &name, how)).await, words);
        assert!(!left_open(store.pool()).await, "{how:?}");
        assert_eq!(world.rows(&format!("plain_{name}")).await, 0, "{how:?}");
        assert!(
            plain(&store, &name, How::Well)
                .await
                .unwrap()
                .is_performed(),
            "{how:?}"
        );
        assert_eq!(world.effects(&name).await, 1, "{how:?}");
    }
}

/// L5: the same in a leased job, whose lease does not have to end first.
async fn a_panic_releases_the_lease(world: World<Db>) {
    let store = world.another(1).await;
    let gateway = Gateway::default();
    for (how, words) in [
        (How::Panic, "exploded in the body"),
        (How::PanicInGuard, "exploded in the guard"),
        (How::PanicInSerialize, "exploded in Serialize"),
    ] {
        let name = format!("{how:?}");
        assert_eq!(panic_of(leased(&store, &gateway, &name, how)).await, words);
        assert!(!left_open(store.pool()).await, "{how:?}");
        assert_eq!(world.effects(&name).await, 0, "{how:?}");
        // The lease is of 30 s, and a duplicate waits for 5 s.
        let next = leased(&store, &gateway, &name, How::Well).await.unwrap();
        assert!(next.is_performed(), "{how:?}");
        assert_eq!(world.effects(&name).await, 1, "{how:?}");
    }
}

/// 19: a panic in a step keeps the steps before it.
async fn a_panic_in_a_step_keeps_the_steps_before(world: World<Db>) {
    #[idempotent(key = "panics_<id>", ignore(explode), lease = 30s)]
    async fn panics_in_a_step(
        job: &mut Job<'_, Db>,
        gateway: &Gateway,
        id: i64,
        explode: bool,
    ) -> Result<i64, Failure> {
        job.step("first", async |key| {
            gateway.charge(key.as_str()).await;
            Ok::<_, Failure>(())
        })
        .await??;
        job.tx_step("second", async |conn| {
            leave(conn, "second").await?;
            assert!(!explode, "exploded in a step");
            Ok::<_, Failure>(())
        })
        .await??;
        Ok(id)
    }
    let gateway = Gateway::default();
    let store = world.another(1).await;
    let words = panic_of(panics_in_a_step(&store, &gateway, 1, true)).await;
    assert_eq!(words, "exploded in a step");
    assert!(!left_open(store.pool()).await);
    assert_eq!(world.effects("second").await, 0);
    assert!(
        panics_in_a_step(&store, &gateway, 1, false)
            .await
            .unwrap()
            .is_performed()
    );
    assert_eq!((gateway.requests(), world.effects("second").await), (1, 1));
}

/// A guard that fails is the job's error, and nothing of the job stays.
async fn an_error_of_the_guard_is_the_jobs(world: World<Db>) {
    async fn broken(conn: &mut Conn, _: i64) -> sqlx::Result<bool> {
        let row = sqlx::query_scalar(sql("SELECT paid FROM no_such_table WHERE id = 1"));
        row.fetch_one(conn).await
    }
    #[idempotent(key = "broken_<id>", guard = broken)]
    async fn job(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
        leave(conn, "broken").await?;
        Ok(id)
    }
    #[idempotent(key = "broken_leased_<id>", guard = broken)]
    async fn leased_job(job: &mut Job<'_, Db>, id: i64) -> Result<i64, Failure> {
        leave(job.tx().await?, "broken").await?;
        Ok(id)
    }
    for _ in 0..2 {
        let error = job(&world.store, 1).await.unwrap_err();
        assert!(matches!(error, Failure::Database(_)), "{error:?}");
        let error = leased_job(&world.store, 1).await.unwrap_err();
        assert!(matches!(error, Failure::Database(_)), "{error:?}");
    }
    assert_eq!(
        (world.effects("broken").await, world.rows("broken_1").await),
        (0, 0)
    );
}

/// What cannot be repeated is told from what can.
async fn errors_say_whether_to_retry(world: World<Db>) {
    plain(&world.store, "once", How::Well)
        .await
        .unwrap()
        .value();
    #[idempotent(key = "plain_<name>")]
    async fn other(conn: &mut Conn, name: &str) -> Result<i64, Failure> {
        leave(conn, name).await?;
        Ok(1)
    }
    let taken = other(&world.store, "once").await.unwrap_err();
    assert!(matches!(taken.runtime(), Error::KeyTaken { .. }));
    assert!(!taken.runtime().is_retryable());
    let done = plain(&world.store, "once", How::Well).await.unwrap();
    let answer = Answer {
        name: "once".to_owned(),
        explode: false,
    };
    assert_eq!(done, Outcome::Replayed(answer));
}

idempotent_tests::tests!(
    after_an_error_the_next_call_runs,
    after_an_error_the_outside_hears_the_same_key,
    a_panic_undoes_the_job_and_goes_on,
    a_panic_releases_the_lease,
    a_panic_in_a_step_keeps_the_steps_before,
    an_error_of_the_guard_is_the_jobs,
    errors_say_whether_to_retry,
);
