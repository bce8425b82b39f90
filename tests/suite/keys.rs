//! Keys: whose they are, who may have them, and that no two pieces of work share one.

use idempotent_runtime::{Error, Job, Outcome, idempotent};

use super::business::{Failure, Gateway, Receipt, leave, slow};
use crate::db::{Conn, Db};
use crate::world::World;

/// K1: who is turned away leaves the claim as it was, for the next one too.
async fn a_refusal_leaves_the_claim_untouched(world: World<Db>) {
    let gateway = Gateway::held();
    let another = world.another(2).await;
    let first = slow(&world.store, &gateway, 1);
    let others = async {
        gateway.arrived().await;
        // Twice through the database of another process, twice at this process's own gate.
        for store in [&another, &another, &world.store, &world.store] {
            let refusal = slow(store, &gateway, 1).await.unwrap_err();
            assert!(
                matches!(refusal.runtime(), Error::Busy { key, .. } if key.as_str() == "slow_1"),
                "{refusal:?}"
            );
            assert!(refusal.runtime().is_retryable());
        }
        gateway.let_go(1);
    };
    let (first, ()) = tokio::join!(first, others);
    assert!(first.unwrap().is_performed());
    assert_eq!((gateway.requests(), world.effects("slow").await), (1, 1));
    assert!(slow(&another, &gateway, 1).await.unwrap().is_replayed());
}

#[idempotent(key = "inner_<id>")]
async fn inner(job: &mut Job<'_, Db>, id: i64) -> Result<String, Failure> {
    leave(job.tx().await?, "inner").await?;
    Ok(format!("inner {id}"))
}

#[idempotent(key = "outer_<id>")]
async fn outer(job: &mut Job<'_, Db>, id: i64) -> Result<String, Failure> {
    let inner = inner(job.store(), id).await?.into_value();
    leave(job.tx().await?, "outer").await?;
    Ok(format!("outer of {inner}"))
}

/// K2: a job that awaits another has its own key, and its own value.
async fn a_job_and_the_job_it_calls_replay_each_their_own(world: World<Db>) {
    assert_eq!(
        outer(&world.store, 7).await.unwrap(),
        Outcome::Performed("outer of inner 7".to_owned())
    );
    assert_eq!(
        outer(&world.store, 7).await.unwrap(),
        Outcome::Replayed("outer of inner 7".to_owned())
    );
    assert_eq!(
        inner(&world.store, 7).await.unwrap(),
        Outcome::Replayed("inner 7".to_owned())
    );
    assert_eq!(
        (world.rows("outer_7").await, world.rows("inner_7").await),
        (1, 1)
    );
    assert_eq!(
        (world.effects("outer").await, world.effects("inner").await),
        (1, 1)
    );
}

#[idempotent(key = "shared_<id>")]
async fn holds_it(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    leave(conn, "holds_it").await?;
    Ok(id)
}

#[idempotent(key = "shared_<id>", wait = 0s, retain = 1d)]
async fn wants_it(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    leave(conn, "wants_it").await?;
    Ok(id)
}

#[idempotent(key = "shared_<id>", lease = 5s)]
async fn wants_it_leased(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    id: i64,
) -> Result<i64, Failure> {
    gateway.charge(job.key().as_str()).await;
    Ok(id)
}

/// K3: a key belongs to one job; 24: and another one hears whose it is.
async fn a_key_belongs_to_one_job(world: World<Db>) {
    let gateway = Gateway::default();
    assert!(holds_it(&world.store, 1).await.unwrap().is_performed());
    let refusals = [
        wants_it(&world.store, 1).await.map(drop).unwrap_err(),
        wants_it_leased(&world.store, &gateway, 1)
            .await
            .map(drop)
            .unwrap_err(),
    ];
    for (refusal, wanted) in refusals.iter().zip(["wants_it", "wants_it_leased"]) {
        let error = refusal.runtime();
        assert!(
            matches!(error, Error::KeyTaken { job, holder, .. } if job == wanted && holder == "holds_it"),
            "{error:?}"
        );
        assert!(!error.is_retryable());
        assert!(error.to_string().contains("name = \"holds_it\""), "{error}");
    }
    assert_eq!(
        (world.effects("wants_it").await, gateway.requests()),
        (0, 0)
    );
    assert!(holds_it(&world.store, 1).await.unwrap().is_replayed());
}

/// 24: also while its holder is at work.
async fn a_running_key_belongs_to_its_job_too(world: World<Db>) {
    #[idempotent(key = "slow_<id>", wait = 0s)]
    async fn impostor(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
        leave(conn, "impostor").await?;
        Ok(id)
    }
    let gateway = Gateway::held();
    let another = world.another(2).await;
    let (first, ()) = tokio::join!(slow(&world.store, &gateway, 1), async {
        gateway.arrived().await;
        let refusal = impostor(&another, 1).await.unwrap_err();
        assert!(
            matches!(refusal.runtime(), Error::KeyTaken { holder, .. } if holder == "slow"),
            "{refusal:?}"
        );
        gateway.let_go(1);
    });
    assert_eq!(first.unwrap().into_value(), Receipt::of(1));
    assert_eq!(world.effects("impostor").await, 0);
}

mod a {
    use super::*;

    #[idempotent(key = "process_<id>")]
    pub async fn process(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
        leave(conn, "a::process").await?;
        Ok(id)
    }
}

mod b {
    use super::*;

    #[idempotent(key = "other_<id>")]
    pub async fn process(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
        leave(conn, "b::process").await?;
        Ok(id)
    }

    pub mod named {
        use super::*;

        #[idempotent(key = "named_<id>", name = "b::process")]
        pub async fn process(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
            leave(conn, "named").await?;
            Ok(id)
        }
    }
}

/// Two functions of one name are refused at the first call of the second, unless one says `name`.
async fn two_functions_cannot_have_one_name(world: World<Db>) {
    a::process(&world.store, 1).await.unwrap().into_value();
    let refusal = b::process(&world.store, 1).await.unwrap_err();
    let Error::NameTwice {
        name,
        first,
        second,
    } = refusal.runtime()
    else {
        panic!("{refusal:?}");
    };
    assert_eq!(name, "process");
    assert!(first.contains("keys::a"), "{first}");
    assert!(second.contains("keys::b"), "{second}");
    assert_eq!(world.effects("b::process").await, 0);
    assert!(
        b::named::process(&world.store, 1)
            .await
            .unwrap()
            .is_performed()
    );
    assert!(a::process(&world.store, 1).await.unwrap().is_replayed());
}

#[idempotent(key = "nightly", once)]
async fn nightly(conn: &mut Conn, note: &str) -> Result<String, Failure> {
    leave(conn, "nightly").await?;
    Ok(note.to_owned())
}

/// `once`: a key without placeholders runs once ever.
async fn once_is_once_ever(world: World<Db>) {
    assert!(nightly(&world.store, "x").await.unwrap().is_performed());
    let another = world.another(1).await;
    assert_eq!(
        nightly(&another, "x").await.unwrap(),
        Outcome::Replayed("x".to_owned())
    );
    assert_eq!(
        (world.effects("nightly").await, world.rows("nightly").await),
        (1, 1)
    );
}

idempotent_tests::tests!(
    a_refusal_leaves_the_claim_untouched,
    a_job_and_the_job_it_calls_replay_each_their_own,
    a_key_belongs_to_one_job,
    a_running_key_belongs_to_its_job_too,
    two_functions_cannot_have_one_name,
    once_is_once_ever,
);
