//! Two versions of a program at once: the tables are expanded first, and contracted when nobody needs
//! what goes.

use idempotent_runtime::{Job, idempotent};

use super::business::{Failure, leave, note};
use crate::db::Db;
use crate::world::World;

#[idempotent(key = "expanded_<id>", retain = 1ms, ignore(fails))]
async fn expanded(job: &mut Job<'_, Db>, id: i64, fails: bool) -> Result<i64, Failure> {
    let doubled = job
        .step("double", async |_| Ok::<_, Failure>(2 * id))
        .await??;
    if fails {
        return Err(Failure::Refused("this time"));
    }
    leave(job.tx().await?, "expanded").await?;
    Ok(doubled)
}

/// 31: this version goes on, on connections that it has, while a later one has expanded the tables.
async fn old_code_runs_on_expanded_tables(world: World<Db>) {
    let store = &world.store;
    assert!(note(store, "before").await.unwrap().is_performed());
    expanded(store, 1, true).await.unwrap_err();
    for change in [
        "ALTER TABLE idempotent_keys ADD COLUMN added_later INTEGER",
        "ALTER TABLE idempotent_steps ADD COLUMN added_later INTEGER NOT NULL DEFAULT 7",
        "ALTER TABLE idempotent_meta ADD COLUMN added_later INTEGER",
        "CREATE TABLE idempotent_later (n INTEGER NOT NULL)",
    ] {
        world.run(change).await;
    }
    // And a process of this version that begins only now, and one that migrates.
    let fresh = world.another(2).await;
    fresh.migrate().await.unwrap();
    for store in [store, &fresh] {
        assert!(note(store, "before").await.unwrap().is_replayed());
    }
    assert!(note(store, "after").await.unwrap().is_performed());
    assert!(note(&fresh, "after").await.unwrap().is_replayed());
    // What had failed goes on after its step.
    assert_eq!(expanded(&fresh, 1, false).await.unwrap().into_value(), 2);
    assert!(expanded(store, 1, false).await.unwrap().is_replayed());
    assert_eq!(world.effects("expanded").await, 1);
    idempotent_tests::world::eventually("its retention has passed", || async {
        store.purge().await.unwrap() == 1
    })
    .await;
}

idempotent_tests::tests!(old_code_runs_on_expanded_tables);
