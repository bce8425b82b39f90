//! Both kinds of job, with a point before and after each thing that they do.

use idempotent_runtime::{Job, idempotent};

use super::db::{Conn, Db, sql};
use crate::outside::Outside;

/// How they fail.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

async fn leave(conn: &mut Conn, name: &str, id: i64) -> sqlx::Result<()> {
    sqlx::query(sql("INSERT INTO effects (name) VALUES (?)"))
        .bind(format!("{name} {id}"))
        .execute(conn)
        .await
        .map(drop)
}

/// Its effects are in the database.
#[idempotent(key = "pay_<id>")]
pub async fn pay(conn: &mut Conn, outside: &Outside, id: i64) -> Result<i64, Failure> {
    outside.at("claimed").await;
    leave(&mut *conn, "pay", id).await?;
    outside.at("written").await;
    Ok(id)
}

/// It reaches outside.
#[idempotent(key = "charge_<id>", lease = 30s, wait = 0s)]
pub async fn charge(job: &mut Job<'_, Db>, outside: &Outside, id: i64) -> Result<String, Failure> {
    outside.at("claimed").await;
    let receipt = outside.charge(job.key().as_str()).await;
    outside.at("charged").await;
    leave(job.tx().await?, "charge", id).await?;
    outside.at("written").await;
    Ok(receipt)
}

/// The same with a short lease, whose duplicates wait.
#[idempotent(key = "brief_<id>", lease = 1s, wait = 20s)]
pub async fn brief(job: &mut Job<'_, Db>, outside: &Outside, id: i64) -> Result<String, Failure> {
    outside.at("claimed").await;
    let receipt = outside.charge(job.key().as_str()).await;
    outside.at("charged").await;
    leave(job.tx().await?, "brief", id).await?;
    outside.at("written").await;
    Ok(receipt)
}

/// One write, and nothing else.
#[idempotent(key = "write_<id>")]
pub async fn write(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    leave(conn, "write", 0).await?;
    Ok(id)
}
