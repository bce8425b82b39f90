//! A job of several writes, all in the database: an account, and the mark on the
//! signup that it was made for.
//!
//! Both commit together with the job's key, or not at all: there is no account
//! without its signup, and no second one.

use idempotent_runtime::{SqliteStore, idempotent};
use sqlx::SqliteConnection;

#[idempotent(key = "signup_<signup_id>", guard = provisioned)]
async fn provision_account(conn: &mut SqliteConnection, signup_id: i64) -> anyhow::Result<i64> {
    let account_id: i64 =
        sqlx::query_scalar("INSERT INTO accounts (signup_id) VALUES (?) RETURNING id")
            .bind(signup_id)
            .fetch_one(&mut *conn)
            .await?;
    sqlx::query("UPDATE signups SET account_id = ? WHERE id = ?")
        .bind(account_id)
        .bind(signup_id)
        .execute(conn)
        .await?;
    Ok(account_id)
}

/// `true` is "done already"; None is "no such signup". It is asked before the
/// body, and again after it: a body that left no mark does not commit.
async fn provisioned(conn: &mut SqliteConnection, signup_id: i64) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT account_id IS NOT NULL FROM signups WHERE id = ?")
        .bind(signup_id)
        .fetch_optional(conn)
        .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let store = SqliteStore::open(&format!("sqlite:{}/shop.db", dir.path().display())).await?;
    sqlx::raw_sql(
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, signup_id INTEGER NOT NULL);
         CREATE TABLE signups (id INTEGER PRIMARY KEY, account_id INTEGER);
         INSERT INTO signups (id) VALUES (5);",
    )
    .execute(store.pool())
    .await?;

    println!("5: {:?}", provision_account(&store, 5).await?); // Performed(1)
    println!("5: {:?}", provision_account(&store, 5).await?); // Replayed(1)
    println!("6: {:?}", provision_account(&store, 6).await?); // Skipped(Missing)
    Ok(())
}
