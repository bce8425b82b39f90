//! Servers that take no writes: a standby, or one that was told so.

use idempotent_runtime::{Backend, Error, Job, Store, idempotent};
use idempotent_tests::proof::server::Server;
use idempotent_tests::proof::soak::ready;
use idempotent_tests::runner::Case;

use super::{MYSQL, POSTGRES};

#[idempotent(key = "number_<n>")]
async fn number<DB: Backend>(_: &mut DB::Connection, n: i64) -> Result<i64, Error> {
    Ok(n)
}

#[idempotent(key = "leased_number_<n>")]
async fn leased_number<DB: Backend>(job: &mut Job<'_, DB>, n: i64) -> Result<i64, Error> {
    let _ = job.key();
    Ok(n)
}

/// Both kinds of job are refused, for good, and leave nothing.
async fn refuses<DB: Backend>(store: &Store<DB>) {
    for error in [
        number::<DB>(store, 1).await.unwrap_err(),
        leased_number::<DB>(store, 1).await.unwrap_err(),
    ] {
        assert!(!error.is_retryable(), "{error:?}");
        assert!(!matches!(error, Error::InDoubt { .. }), "{error:?}");
    }
}

async fn performs<DB: Backend>(store: &Store<DB>) {
    assert!(number::<DB>(store, 1).await.unwrap().is_performed());
    assert!(leased_number::<DB>(store, 1).await.unwrap().is_performed());
}

/// 13: a standby refuses; promoted, it takes the job.
async fn a_standby_of_postgres_is_refused() {
    let mut server = Server::postgres().await.unwrap();
    let url = server.url(server.port());
    let pool = ready::<sqlx::Postgres>(&url).await.unwrap();
    Store::new(pool.clone()).migrate().await.unwrap();
    pool.close().await;
    server.stand_by().await.unwrap();
    let store = Store::new(ready::<sqlx::Postgres>(&url).await.unwrap());
    refuses(&store).await;
    server.promote().await.unwrap();
    let store = Store::new(ready::<sqlx::Postgres>(&url).await.unwrap());
    performs(&store).await;
    server.stop().await.unwrap();
}

/// 13: a replica of MariaDB is `read_only` to whoever is no administrator.
async fn a_replica_of_mysql_is_refused() {
    let server = Server::mariadb().await.unwrap();
    let url = server.url(server.port());
    let pool = ready::<sqlx::MySql>(&url).await.unwrap();
    Store::new(pool.clone()).migrate().await.unwrap();
    let app = "CREATE USER 'app'@'%' IDENTIFIED BY 'app'; \
               GRANT SELECT, INSERT, UPDATE, DELETE ON proof.* TO 'app'@'%'; \
               SET GLOBAL read_only = 1";
    sqlx::raw_sql(app).execute(&pool).await.unwrap();
    let apps = url.replace("proof:proof@", "app:app@");
    let store = Store::new(ready::<sqlx::MySql>(&apps).await.unwrap());
    refuses(&store).await;
    sqlx::raw_sql("SET GLOBAL read_only = 0")
        .execute(&pool)
        .await
        .unwrap();
    performs(&store).await;
    server.stop().await.unwrap();
}

pub fn cases() -> Vec<Case> {
    idempotent_tests::cases!(
        POSTGRES => a_standby_of_postgres_is_refused,
        MYSQL => a_replica_of_mysql_is_refused,
    )
}
