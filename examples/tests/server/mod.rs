//! A server of the environment: what is on it, and a database to play in.

use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, PgConnection};

#[derive(Clone, Copy)]
pub enum Kind {
    Postgres,
    MySql,
}

pub struct Server {
    pub kind: Kind,
    pub url: String,
}

/// A database that is dropped with this.
pub struct Database<'a> {
    server: &'a Server,
    name: String,
    pub url: String,
}

impl Server {
    /// Whether there is a database of this name.
    pub fn has(&self, database: &str) -> bool {
        let list = match self.kind {
            Kind::Postgres => "SELECT datname::text FROM pg_database",
            Kind::MySql => "SELECT CAST(schema_name AS CHAR) FROM information_schema.schemata",
        };
        self.run(list).iter().any(|name| name == database)
    }

    /// How many connections there are to the database of this name.
    pub fn connections(&self, database: &str) -> usize {
        let list = match self.kind {
            Kind::Postgres => "SELECT datname::text FROM pg_stat_activity WHERE datname <> ''",
            Kind::MySql => {
                "SELECT CAST(db AS CHAR) FROM information_schema.processlist WHERE db <> ''"
            }
        };
        let connected = self.run(list);
        connected.iter().filter(|name| *name == database).count()
    }

    pub fn database(&self) -> Database<'_> {
        let name = format!("idempotent_test_{:016x}", fastrand::u64(..));
        self.run(&format!("CREATE DATABASE {name}"));
        let base = self
            .url
            .rsplit_once('/')
            .map_or(&*self.url, |(base, _)| base);
        let url = format!("{base}/{name}");
        Database {
            server: self,
            name,
            url,
        }
    }

    /// Runs a statement, and gives the first column of what it answers.
    fn run(&self, sql: &str) -> Vec<String> {
        let sql = AssertSqlSafe(sql.to_owned());
        let run = async {
            match self.kind {
                Kind::Postgres => {
                    let mut conn = PgConnection::connect(&self.url).await?;
                    sqlx::query_scalar(sql).fetch_all(&mut conn).await
                }
                Kind::MySql => {
                    let mut conn = MySqlConnection::connect(&self.url).await?;
                    sqlx::query_scalar(sql).fetch_all(&mut conn).await
                }
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let done: sqlx::Result<_> = runtime.expect("a runtime").block_on(run);
        done.expect("the server of the tests")
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        self.server.run(&format!("DROP DATABASE {}", self.name));
    }
}
