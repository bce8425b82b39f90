//! Futures dropped at any await leave the pool clean.

use idempotent_runtime::{Job, idempotent};
use idempotent_tests::chance::{Chance, Cuts};

use super::words::{Failure, assert_clean, leave};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "cut_<n>")]
async fn cut(conn: &mut Conn, n: i64) -> Result<i64, Failure> {
    leave(&mut *conn, &format!("cut {n}")).await?;
    sqlx::query("SELECT id FROM orders").fetch_all(conn).await?;
    Ok(n)
}

#[idempotent(key = "cut_leased_<n>", lease = 1s)]
async fn cut_leased(job: &mut Job<'_, Db>, n: i64) -> Result<i64, Failure> {
    sqlx::query("SELECT id FROM orders")
        .fetch_all(job.pool())
        .await?;
    leave(job.tx().await?, &format!("cut leased {n}")).await?;
    Ok(n)
}

async fn drops(world: &World<Db>, connections: u32, rounds: i64) {
    let mut chance = Chance::seeded("cancelled");
    let mut cuts = Cuts::drawn_from(chance.clone());
    let store = world.another(connections).await;
    for n in 0..rounds {
        let key = n % 40;
        if chance.below(4) == 0 {
            cuts.cut(cut_leased(&store, key)).await;
        } else {
            cuts.cut(cut(&store, key)).await;
        }
        if n % 7 == 0 {
            assert_clean(&store).await;
        }
    }
    assert_clean(&store).await;
    assert!(cuts.whole > 50 && cuts.cut > 50, "{cuts:?}");
    for n in 0..40 {
        cut(&store, n).await.unwrap().into_value();
        assert_eq!(world.effects(&format!("cut {n}")).await, 1);
    }
}

async fn a_pool_of_one_stays_clean(world: World<Db>) {
    drops(&world, 1, 1000).await;
}

async fn a_pool_of_two_stays_clean(world: World<Db>) {
    drops(&world, 2, 1000).await;
}

idempotent_tests::tests!(a_pool_of_one_stays_clean, a_pool_of_two_stays_clean);
