//! The errors and helpers that the topics share.

use crate::db::Conn;

/// How a job of these tests fails.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("refused")]
    Refused,
}

impl Failure {
    /// The runtime's own error.
    pub fn runtime(&self) -> &idempotent_runtime::Error {
        match self {
            Self::Idempotent(error) => error,
            other => panic!("not an error of the runtime: {other:?}"),
        }
    }
}

/// Leaves an effect that can be counted.
pub async fn leave(conn: &mut Conn, name: &str) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO effects (name) VALUES (?)")
        .bind(name)
        .execute(conn)
        .await
        .map(drop)
}

/// Runs one statement as text.
pub async fn raw(conn: &mut Conn, sql: &'static str) -> sqlx::Result<()> {
    sqlx::raw_sql(sql).execute(conn).await.map(drop)
}

/// Whether every idle connection of the store's pool is in no transaction.
pub async fn assert_clean(store: &idempotent_runtime::MySqlStore) {
    let mut held = Vec::new();
    for _ in 0..store.pool().options().get_max_connections() {
        let mut conn = store.pool().acquire().await.expect("a connection");
        let open: i64 = sqlx::query_scalar("SELECT CAST(@@in_transaction AS SIGNED)")
            .fetch_one(&mut *conn)
            .await
            .expect("an answer");
        assert_eq!(open, 0, "a connection came back inside a transaction");
        held.push(conn);
    }
    drop(held);
}
