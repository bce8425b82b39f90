//! Runtimes that end in the middle of a body, as at the end of a program that does not wait.

use std::sync::Arc;

use idempotent_runtime::{Job, Store, idempotent};
use tokio::sync::Notify;

use super::business::{Failure, leave};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase as _, World};

/// Tells that the body has come to its middle, and waits there for good where it is to end.
#[derive(Debug, Default)]
struct Middle {
    reached: Notify,
    ends: bool,
}

impl Middle {
    async fn pass(&self) {
        self.reached.notify_one();
        if self.ends {
            std::future::pending::<()>().await;
        }
    }
}

#[idempotent(key = "ended_<id>")]
async fn ended(conn: &mut Conn, middle: &Middle, id: i64) -> Result<i64, Failure> {
    leave(conn, "ended").await?;
    middle.pass().await;
    Ok(id)
}

#[idempotent(key = "ended_leased_<id>", lease = 1s)]
async fn ended_leased(job: &mut Job<'_, Db>, middle: &Middle, id: i64) -> Result<i64, Failure> {
    leave(job.tx().await?, "ended_leased").await?;
    middle.pass().await;
    Ok(id)
}

/// Runs a job in a runtime of its own, which ends when the body is in its middle.
async fn in_a_runtime_that_ends<F>(
    world: &World<Db>,
    job: impl FnOnce(Store<Db>, Arc<Middle>) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let url = world.url.clone();
    let ends = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let middle = Arc::new(Middle {
            ends: true,
            ..Middle::default()
        });
        runtime.block_on(async {
            let store = Store::new(Db::pool(&url, 1).await);
            tokio::spawn(job(store, Arc::clone(&middle)));
            middle.reached.notified().await;
        });
        drop(runtime);
    });
    ends.await.unwrap();
}

/// 18: the job is undone with its runtime, and the retry runs.
async fn the_end_of_a_runtime_undoes_a_job(world: World<Db>) {
    in_a_runtime_that_ends(&world, |store, middle| async move {
        drop(ended(&store, &middle, 1).await);
    })
    .await;
    assert!(
        ended(&world.store, &Middle::default(), 1)
            .await
            .unwrap()
            .is_performed()
    );
    assert_eq!(world.effects("ended").await, 1);
}

/// 18: the same for a leased job, whose lease may have to end first.
async fn the_end_of_a_runtime_undoes_a_leased_job(world: World<Db>) {
    in_a_runtime_that_ends(&world, |store, middle| async move {
        drop(ended_leased(&store, &middle, 1).await);
    })
    .await;
    assert!(
        ended_leased(&world.store, &Middle::default(), 1)
            .await
            .unwrap()
            .is_performed()
    );
    assert_eq!(world.effects("ended_leased").await, 1);
}

idempotent_tests::tests!(
    the_end_of_a_runtime_undoes_a_job,
    the_end_of_a_runtime_undoes_a_leased_job,
);
