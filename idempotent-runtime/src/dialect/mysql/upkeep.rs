//! Resolving and purging.

use sqlx::mysql::MySqlConnection;

use super::sql::{now, reserved, unheld};

pub(super) async fn resolve_done(
    conn: &mut MySqlConnection,
    key: &str,
    result: &[u8],
) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "UPDATE idempotent_keys SET fence = fence + 1, lease_until = NULL, result = ?, finished_at = ",
        now!(),
        ", status = 1 WHERE `key` = ? AND ",
        unheld!()
    ))
    .bind(result)
    .bind(key.as_bytes())
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn resolve_again(conn: &mut MySqlConnection, key: &str) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "DELETE FROM idempotent_keys WHERE `key` = ? AND ",
        unheld!()
    ))
    .bind(key.as_bytes())
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn resolve_forget(conn: &mut MySqlConnection, key: &str) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "DELETE FROM idempotent_keys WHERE `key` = ? AND (status = 1 OR ",
        unheld!(),
        ")"
    ))
    .bind(key.as_bytes())
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query("DELETE FROM idempotent_steps WHERE `key` = ?")
        .bind(key.as_bytes())
        .execute(conn)
        .await?;
    Ok(true)
}

pub(super) async fn purge(conn: &mut MySqlConnection, limit: u32) -> sqlx::Result<u64> {
    // One instant for both statements, or a key could go and leave its steps. As text, for sqlx binds
    // times by features that are the user's choice.
    let now: String = sqlx::query_scalar(concat!("SELECT CAST(", now!(), " AS CHAR)"))
        .fetch_one(&mut *conn)
        .await?;
    // The last LIMIT is for sessions with `sql_safe_updates`.
    sqlx::query(concat!(
        "DELETE FROM idempotent_steps WHERE `key` IN (SELECT `key` FROM (SELECT `key` \
         FROM idempotent_keys WHERE forget_at < CAST(? AS DATETIME(6)) AND status IN (1, ",
        reserved!(),
        ") ORDER BY forget_at, `key` LIMIT ?) AS gone) LIMIT 9223372036854775807"
    ))
    .bind(&now)
    .bind(limit)
    .execute(&mut *conn)
    .await?;
    let done = sqlx::query(concat!(
        "DELETE FROM idempotent_keys WHERE forget_at < CAST(? AS DATETIME(6)) AND status IN (1, ",
        reserved!(),
        ") ORDER BY forget_at, `key` LIMIT ?"
    ))
    .bind(&now)
    .bind(limit)
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
