//! Where the shop's database is: a file, or a database of its own on a server.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;

/// Where, on each of the databases that the shop runs on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Place {
    Sqlite(PathBuf),
    Postgres(OnServer),
    MySql(OnServer),
}

/// A database of the shop's own on a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OnServer {
    /// The server, as the person gave it.
    pub url: String,
    /// A name that no other run has, of letters, digits and `_`: it stands in SQL as it is.
    pub database: String,
}

impl OnServer {
    fn fresh(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            database: format!("shop_{:016x}", fastrand::u64(..)),
        }
    }
}

impl Place {
    /// What the run leaves behind if even the parent is killed.
    pub fn on_server(&self) -> Option<&OnServer> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(server) | Self::MySql(server) => Some(server),
        }
    }
}

/// From a server's URL, with a fresh name for the database.
impl FromStr for Place {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let wrong = |error: sqlx::Error| error.to_string();
        match url.split_once("://") {
            Some(("postgres" | "postgresql", _)) => {
                PgConnectOptions::from_str(url).map_err(wrong)?;
                Ok(Self::Postgres(OnServer::fresh(url)))
            }
            Some(("mysql" | "mariadb", _)) => {
                MySqlConnectOptions::from_str(url).map_err(wrong)?;
                Ok(Self::MySql(OnServer::fresh(url)))
            }
            _ => Err("expected postgres://… or mysql://…; a SQLite file is --db PATH".to_owned()),
        }
    }
}
