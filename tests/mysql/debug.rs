use super::words::*;
use crate::db::{Conn, Db};
use crate::world::World;
use idempotent_runtime::{Job, idempotent};

#[idempotent(key = "dl_<n>", ignore(bytes))]
async fn large(conn: &mut Conn, n: i64, bytes: usize) -> Result<String, Failure> {
    leave(conn, "large").await?;
    let _ = n;
    Ok("x".repeat(bytes))
}
#[idempotent(key = "dll_<n>", ignore(bytes))]
async fn large_leased(job: &mut Job<'_, Db>, n: i64, bytes: usize) -> Result<String, Failure> {
    leave(job.tx().await?, "large").await?;
    let _ = n;
    Ok("x".repeat(bytes))
}
#[idempotent(key = "dls_<n>", ignore(bytes))]
async fn large_step(job: &mut Job<'_, Db>, n: i64, bytes: usize) -> Result<i64, Failure> {
    job.step("large", async |_| Ok::<_, Failure>("x".repeat(bytes))).await??;
    Ok(n)
}
async fn ids(world: World<Db>) {
    let store = world.another(1).await;
    let id = async || -> u64 { sqlx::query_scalar("SELECT CONNECTION_ID()").fetch_one(store.pool()).await.unwrap() };
    eprintln!("start {}", id().await);
    let _ = large(&store, 1, 5_000_000).await.map(|o| eprintln!("{}", o.is_performed()));
    eprintln!("{}", id().await);
    let _ = large_leased(&store, 1, 5_000_000).await.map(|o| eprintln!("{}", o.is_performed()));
    eprintln!("leased {}", id().await);
    let e = large(&store, 2, 16_777_000).await.map(|o| o.is_performed());
    eprintln!("{e:?} {}", id().await);
    let e = large_leased(&store, 2, 16_777_000).await.map(|o| o.is_performed());
    eprintln!("{e:?} {}", id().await);
    let e = large_step(&store, 2, 16_777_000).await.map(|o| o.is_performed());
    eprintln!("{e:?} {}", id().await);
}

#[idempotent(key = "esc_<n>", ignore(how, fails))]
async fn escape(conn: &mut Conn, n: i64, how: &'static str, fails: bool) -> Result<i64, Failure> {
    leave(&mut *conn, "before").await?;
    raw(&mut *conn, how).await?;
    leave(&mut *conn, "after").await?;
    if fails { Err(Failure::Refused) } else { Ok(n) }
}
#[idempotent(key = "oute_<n>", ignore(how))]
async fn calls(conn: &mut Conn, n: i64, how: &'static str) -> Result<i64, Failure> {
    leave(&mut *conn, "outer").await?;
    let a = escape(&mut *conn, n, how, false).await;
    eprintln!("inner {a:?}");
    a?;
    Ok(n)
}
async fn outer(world: World<Db>) {
    let a = calls(&world.store, 2, "ROLLBACK").await;
    eprintln!("outer {a:?} rows {}", world.rows("oute_2").await);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    eprintln!("rows {}", world.rows("oute_2").await);
}
idempotent_tests::tests!(ids, outer);
