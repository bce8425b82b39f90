//! The names of steps: what tells them apart, and what a deploy that changes them meets.

use idempotent_runtime::{Error, Job, idempotent};

use super::business::{Failure, Gateway, leave};
use crate::db::{Conn, Db};
use crate::world::World;

/// One step for each name, and a failure at the end where `fail` says so.
#[idempotent(key = "named_<n>", ignore(names, fail, retired))]
async fn named(
    job: &mut Job<'_, Db>,
    n: i64,
    names: &[&str],
    retired: &[&str],
    fail: bool,
) -> Result<usize, Failure> {
    for name in retired {
        job.retire_step(*name);
    }
    for name in names {
        job.step(*name, async |_| Ok::<_, Failure>(name.len()))
            .await??;
    }
    if fail {
        Err(Failure::Refused("asked to"))
    } else {
        Ok(names.len())
    }
}

fn mismatch(error: &Failure) -> &str {
    match error.runtime() {
        Error::StepMismatch { step, .. } => step,
        other => panic!("{other}"),
    }
}

/// 38: a name used twice, an empty one, and a step that a deploy renamed are errors that name it.
async fn steps_that_cannot_be_told_apart_are_refused_by_name(world: World<Db>) {
    let error = named(&world.store, 1, &["a", "b", "a"], &[], false)
        .await
        .unwrap_err();
    assert_eq!(mismatch(&error), "a");
    let error = named(&world.store, 2, &[""], &[], false).await.unwrap_err();
    assert_eq!(mismatch(&error), "");
    named(&world.store, 3, &["old", "b"], &[], true)
        .await
        .unwrap_err();
    let renamed = named(&world.store, 3, &["new", "b"], &[], false)
        .await
        .unwrap_err();
    assert_eq!(mismatch(&renamed), "old");
    let dropped = named(&world.store, 3, &["b"], &[], false)
        .await
        .unwrap_err();
    assert_eq!(mismatch(&dropped), "old");
    let without_steps = named(&world.store, 3, &[], &[], false).await.unwrap_err();
    assert_eq!(mismatch(&without_steps), "old");
    let done = named(&world.store, 3, &["new", "b"], &["old"], false)
        .await
        .unwrap_err();
    assert_eq!(
        mismatch(&done),
        "b",
        "a new step before a recorded one would come out of order"
    );
    assert!(
        named(&world.store, 3, &["b", "new"], &["old"], false)
            .await
            .unwrap()
            .is_performed()
    );
}

/// Names are told apart as bytes, in the store and outside; and bounded.
#[idempotent(key = "bytes_<n>", ignore(names))]
async fn by_bytes(
    job: &mut Job<'_, Db>,
    gateway: &Gateway,
    n: i64,
    names: &[&str],
) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for name in names {
        let id = job
            .step(*name, async |key| {
                Ok::<_, Failure>(gateway.charge(key.as_str()).await.id)
            })
            .await??;
        ids.push(id);
    }
    match n {
        1 if gateway.requests() == names.len() => Err(Failure::Refused("at the end")),
        _ => Ok(ids),
    }
}

async fn names_of_steps_are_told_apart_as_bytes(world: World<Db>) {
    let longest = "x".repeat(200);
    let one_more = "x".repeat(201);
    let names = [
        "a",
        "A",
        "a ",
        " a",
        "ä",
        "\u{1f600}",
        "a/b",
        "a%2Fb",
        &longest,
    ];
    let gateway = Gateway::default();
    let cut = by_bytes(&world.store, &gateway, 1, &names).await;
    assert!(matches!(cut, Err(Failure::Refused(_))), "{cut:?}");
    // One more request, so that the job does not stop again.
    gateway.charge("another").await;
    let ids = by_bytes(&world.store, &gateway, 1, &names).await.unwrap();
    assert_eq!(gateway.requests(), names.len() + 1, "each was replayed");
    assert_eq!(
        gateway.charges(),
        names.len() + 1,
        "each had a key of its own"
    );
    let wanted = gateway.keys().into_iter().map(|key| format!("r_{key}"));
    let wanted: Vec<String> = wanted.take(names.len()).collect();
    assert_eq!(ids.into_value(), wanted);

    let too_long = by_bytes(&world.store, &gateway, 2, &[&one_more]).await;
    assert_eq!(mismatch(&too_long.unwrap_err()), one_more);
}

/// Comes to its steps, and then to its transaction.
#[idempotent(key = "deployed_<n>", ignore(names, retired, fail))]
async fn deployed(
    job: &mut Job<'_, Db>,
    n: i64,
    names: &[&str],
    retired: &[&str],
    fail: bool,
) -> Result<i64, Failure> {
    for name in retired {
        job.retire_step(*name);
    }
    for name in names {
        job.tx_step(*name, async |conn: &mut Conn| leave(conn, name).await)
            .await??;
    }
    if fail {
        return Err(Failure::Refused("asked to"));
    }
    leave(job.tx().await?, "deployed").await?;
    Ok(n)
}

/// The transaction does not begin without the steps that an earlier attempt recorded: what they did
/// would be counted on by nobody. The deploy before goes on, and so does one that retires them.
async fn a_step_that_a_deploy_left_out_stops_the_transaction(world: World<Db>) {
    for n in [1, 2] {
        let cut = deployed(&world.store, n, &["kept", "old"], &[], true).await;
        assert!(matches!(cut, Err(Failure::Refused(_))), "{cut:?}");
        for names in [["kept"].as_slice(), &[]] {
            let error = deployed(&world.store, n, names, &[], false).await;
            let error = error.unwrap_err();
            let missed = if names.is_empty() { "kept" } else { "old" };
            assert_eq!(mismatch(&error), missed);
            assert!(
                error.to_string().contains(missed) && error.to_string().contains("retire_step"),
                "{error}"
            );
        }
        assert_eq!(world.effects("deployed").await, n - 1);
        let (names, retired) = match n {
            1 => (["kept", "old"].as_slice(), [].as_slice()),
            _ => (["kept"].as_slice(), ["old"].as_slice()),
        };
        let done = deployed(&world.store, n, names, retired, false).await;
        assert!(done.unwrap().is_performed());
        assert_eq!(world.effects("deployed").await, n);
        assert_eq!(
            (world.effects("kept").await, world.effects("old").await),
            (n, n)
        );
    }
}

idempotent_tests::tests!(
    steps_that_cannot_be_told_apart_are_refused_by_name,
    names_of_steps_are_told_apart_as_bytes,
    a_step_that_a_deploy_left_out_stops_the_transaction,
);
