//! A job that is generic over its database, run on whichever is named:
//!
//! ```sh
//! cargo run --example any_database                             # SQLite, in a temporary file
//! cargo run --example any_database -- postgres://user:password@host/database
//! cargo run --example any_database -- mysql://user:password@host/database
//! ```
//!
//! sqlx's queries are typed by their database. So what is generic asks through a trait of one's own,
//! and each database has its statements. (On a server, the ledger's tables stay in the database, and
//! so does the table of orders.)

use idempotent_runtime::{Backend, MySqlStore, PgStore, SqliteStore, Store, idempotent};
use sqlx::{MySql, Pool, Postgres, Sqlite};

#[idempotent(key = "any_order_<order_id>", guard = DB::paid)]
async fn pay<DB: Orders>(conn: &mut DB::Connection, order_id: i64) -> anyhow::Result<String> {
    DB::mark_paid(conn, order_id).await?;
    Ok(format!("paid on {}", DB::NAME))
}

/// What the job asks of a database.
trait Orders: Backend {
    async fn add(pool: &Pool<Self>) -> sqlx::Result<i64>;
    async fn paid(conn: &mut Self::Connection, order_id: i64) -> sqlx::Result<Option<bool>>;
    async fn mark_paid(conn: &mut Self::Connection, order_id: i64) -> sqlx::Result<()>;
}

/// The statements, which differ only in how a parameter is written.
macro_rules! orders {
    ($($DB:ty: $parameter:literal),*) => {$(impl Orders for $DB {
        async fn add(pool: &Pool<Self>) -> sqlx::Result<i64> {
            let table = "CREATE TABLE IF NOT EXISTS any_orders (id BIGINT PRIMARY KEY, paid BOOLEAN)";
            sqlx::raw_sql(table).execute(pool).await?;
            let id = fastrand::i64(1..); // keys stay: an id of an earlier run would be replayed
            let insert = concat!("INSERT INTO any_orders VALUES (", $parameter, ", FALSE)");
            sqlx::query(insert).bind(id).execute(pool).await?;
            Ok(id)
        }

        async fn paid(conn: &mut Self::Connection, id: i64) -> sqlx::Result<Option<bool>> {
            let paid = concat!("SELECT paid FROM any_orders WHERE id = ", $parameter);
            sqlx::query_scalar(paid).bind(id).fetch_optional(conn).await
        }

        async fn mark_paid(conn: &mut Self::Connection, id: i64) -> sqlx::Result<()> {
            let mark = concat!("UPDATE any_orders SET paid = TRUE WHERE id = ", $parameter);
            sqlx::query(mark).bind(id).execute(conn).await.map(drop)
        }
    })*};
}

orders!(Sqlite: "?", Postgres: "$1", MySql: "?");

async fn run<DB: Orders>(store: Store<DB>) -> anyhow::Result<()> {
    let order_id = DB::add(store.pool()).await?;
    println!("{:?}", pay::<DB>(&store, order_id).await?); // Performed("paid on …")
    println!("{:?}", pay::<DB>(&store, order_id).await?); // Replayed("paid on …")
    println!("{:?}", pay::<DB>(&store, 0).await?); // Skipped(Missing)
    store.close().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    match std::env::args().nth(1) {
        None => run(SqliteStore::open(&format!("{}/any.db", dir.path().display())).await?).await,
        Some(url) if url.starts_with("postgres") => run(PgStore::open(&url).await?).await,
        Some(url) if url.starts_with("mysql") => run(MySqlStore::open(&url).await?).await,
        Some(url) => run(SqliteStore::open(&url).await?).await,
    }
}
