//! From a URL to a store.

use idempotent_runtime::Store;

use crate::failure::Failure;

/// A store on one of the databases that this command was built for.
pub(crate) enum Database {
    #[cfg(feature = "sqlite")]
    Sqlite(Store<sqlx::Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(Store<sqlx::Postgres>),
    #[cfg(feature = "mysql")]
    MySql(Store<sqlx::MySql>),
}

/// The URLs that this command was built for, for messages.
pub(crate) fn schemes() -> String {
    let built = [
        (cfg!(feature = "sqlite"), "sqlite:PATH"),
        (cfg!(feature = "postgres"), "postgres://…"),
        (cfg!(feature = "mysql"), "mysql://…"),
    ];
    let built = built.into_iter().filter(|(built, _)| *built);
    built
        .map(|(_, scheme)| scheme)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Opens a database. Only `migrate` may make one: another command on a wrong path says so.
pub(crate) async fn open(url: &str, may_create: bool) -> Result<Database, Failure> {
    match url.split_once(':').map_or("", |(scheme, _)| scheme) {
        #[cfg(feature = "sqlite")]
        "sqlite" => sqlite(url, may_create).await.map(Database::Sqlite),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres(url).await.map(Database::Postgres),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => mysql(url).await.map(Database::MySql),
        _ => Err(Failure::UnknownDatabase),
    }
}

#[cfg(feature = "sqlite")]
async fn sqlite(url: &str, may_create: bool) -> Result<Store<sqlx::Sqlite>, Failure> {
    use std::str::FromStr;

    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

    let mut options = SqliteConnectOptions::from_str(url).map_err(Failure::BadUrl)?;
    if may_create {
        // The mode stays with the file; other commands find it there.
        options = options
            .create_if_missing(!url.contains("mode=ro"))
            .journal_mode(SqliteJournalMode::Wal);
    }
    let pool = SqlitePoolOptions::new()
        .max_connections(2)
        .connect_with(options)
        .await
        .map_err(Failure::Unreachable)?;
    Ok(Store::new(pool))
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str) -> Result<Store<sqlx::Postgres>, Failure> {
    use std::str::FromStr;

    use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

    let options = PgConnectOptions::from_str(url).map_err(Failure::BadUrl)?;
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .connect_with(options)
        .await
        .map_err(Failure::Unreachable)?;
    Ok(Store::new(pool))
}

#[cfg(feature = "mysql")]
async fn mysql(url: &str) -> Result<Store<sqlx::MySql>, Failure> {
    use std::str::FromStr;

    use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};

    let options = MySqlConnectOptions::from_str(url).map_err(Failure::BadUrl)?;
    let pool = MySqlPoolOptions::new()
        .max_connections(2)
        .connect_with(options)
        .await
        .map_err(Failure::Unreachable)?;
    Ok(Store::new(pool))
}
