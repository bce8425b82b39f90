//! A job with an effect that has no idempotency key: a mail.
//!
//! The job's key becomes the mail's `Message-ID`, which is as much as SMTP can
//! do: a mail that is sent again after a crash is the same mail, and can be
//! dropped as a copy.

use idempotent_runtime::{Job, Sqlite, SqliteStore, idempotent};
use sqlx::SqliteConnection;

#[idempotent(key = "welcome_<user_id>", guard = welcome_email_sent)]
async fn send_welcome_email(job: &mut Job<'_, Sqlite>, user_id: i64) -> anyhow::Result<String> {
    let email: String = sqlx::query_scalar("SELECT email FROM users WHERE id = ?")
        .bind(user_id)
        .fetch_one(job.pool())
        .await?;
    let message_id = format!("<{}@shop.example>", job.key());
    println!("   sending {message_id} to {email}");
    sqlx::query("UPDATE users SET welcome_email_sent = TRUE WHERE id = ?")
        .bind(user_id)
        .execute(job.tx().await?)
        .await?;
    Ok(message_id)
}

/// `true` is "done already", and None is "the user is gone": both are nothing to do.
async fn welcome_email_sent(
    conn: &mut SqliteConnection,
    user_id: i64,
) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT welcome_email_sent FROM users WHERE id = ?")
        .bind(user_id)
        .fetch_optional(conn)
        .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let store = SqliteStore::open(&format!("sqlite:{}/shop.db", dir.path().display())).await?;
    sqlx::raw_sql(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT, welcome_email_sent BOOL NOT NULL DEFAULT FALSE);
         INSERT INTO users (id, email) VALUES (1, 'ada@shop.example');
         INSERT INTO users VALUES (2, 'ben@shop.example', TRUE); -- welcomed before the job had a key",
    )
    .execute(store.pool())
    .await?;

    println!("1: {:?}", send_welcome_email(&store, 1).await?); // Performed("<welcome_1@shop.example>")
    println!("1: {:?}", send_welcome_email(&store, 1).await?); // Replayed("<welcome_1@shop.example>")
    println!("2: {:?}", send_welcome_email(&store, 2).await?); // Skipped(Guard)
    println!("3: {:?}", send_welcome_email(&store, 3).await?); // Skipped(Missing)
    Ok(())
}
