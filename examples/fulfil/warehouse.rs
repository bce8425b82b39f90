//! The warehouse's database: what the job and the count ask of it, on each database.

use anyhow::{Context as _, Result, bail, ensure};
use idempotent_runtime::{Backend, Store};
use sqlx::migrate::MigrateDatabase;
use sqlx::{MySql, Pool, Postgres, Sqlite};

/// What is on the shelf at first.
pub const STOCK: i64 = 100;

/// A database with a warehouse in it. `MigrateDatabase` is sqlx's: it makes and drops databases.
pub trait Warehouse: Backend + MigrateDatabase {
    /// Opens it, with the ledger beside the warehouse's own tables.
    async fn open(url: &str) -> idempotent_runtime::Result<Store<Self>>;

    /// Installs the warehouse's tables, with these orders.
    async fn lay_out(pool: &Pool<Self>, orders: &[i64]) -> sqlx::Result<()>;

    /// Takes one piece off the shelf for an order.
    async fn reserve_piece(conn: &mut Self::Connection, order_id: i64) -> sqlx::Result<()>;

    /// Writes down that the order is on its way.
    async fn close_order(
        conn: &mut Self::Connection,
        order_id: i64,
        parcel: &str,
    ) -> sqlx::Result<()>;

    /// How often the order was reserved, and how often it was closed.
    async fn effects(pool: &Pool<Self>, order_id: i64) -> sqlx::Result<(i64, i64)>;

    /// What is left on the shelf.
    async fn left(pool: &Pool<Self>) -> sqlx::Result<i64>;

    /// Drops the database, whoever is still connected.
    async fn remove(url: &str) -> sqlx::Result<()>;
}

/// The statements, which differ in how a parameter is written only.
macro_rules! warehouse {
    ($($DB:ty { $one:literal, $two:literal, $drop:ident })*) => {$(impl Warehouse for $DB {
        async fn open(url: &str) -> idempotent_runtime::Result<Store<Self>> {
            Store::<$DB>::open(url).await
        }

        async fn lay_out(pool: &Pool<Self>, orders: &[i64]) -> sqlx::Result<()> {
            sqlx::raw_sql(
                "CREATE TABLE stock (pieces BIGINT NOT NULL);
                 CREATE TABLE orders (id BIGINT PRIMARY KEY, closed BIGINT NOT NULL, parcel VARCHAR(40));
                 CREATE TABLE reservations (order_id BIGINT NOT NULL);",
            )
            .execute(pool)
            .await?;
            let stock = concat!("INSERT INTO stock VALUES (", $one, ")");
            sqlx::query(stock).bind(STOCK).execute(pool).await?;
            for order_id in orders {
                let order = concat!("INSERT INTO orders (id, closed) VALUES (", $one, ", 0)");
                sqlx::query(order).bind(order_id).execute(pool).await?;
            }
            Ok(())
        }

        async fn reserve_piece(conn: &mut Self::Connection, order_id: i64) -> sqlx::Result<()> {
            let piece = "UPDATE stock SET pieces = pieces - 1";
            sqlx::query(piece).execute(&mut *conn).await?;
            let note = concat!("INSERT INTO reservations VALUES (", $one, ")");
            sqlx::query(note).bind(order_id).execute(conn).await.map(drop)
        }

        async fn close_order(
            conn: &mut Self::Connection,
            order_id: i64,
            parcel: &str,
        ) -> sqlx::Result<()> {
            let close = concat!(
                "UPDATE orders SET closed = closed + 1, parcel = ", $one, " WHERE id = ", $two
            );
            sqlx::query(close).bind(parcel).bind(order_id).execute(conn).await.map(drop)
        }

        async fn effects(pool: &Pool<Self>, order_id: i64) -> sqlx::Result<(i64, i64)> {
            let reserved = concat!("SELECT count(*) FROM reservations WHERE order_id = ", $one);
            let closed = concat!("SELECT closed FROM orders WHERE id = ", $one);
            Ok((
                sqlx::query_scalar(reserved).bind(order_id).fetch_one(pool).await?,
                sqlx::query_scalar(closed).bind(order_id).fetch_one(pool).await?,
            ))
        }

        async fn left(pool: &Pool<Self>) -> sqlx::Result<i64> {
            sqlx::query_scalar("SELECT pieces FROM stock").fetch_one(pool).await
        }

        async fn remove(url: &str) -> sqlx::Result<()> {
            <$DB>::$drop(url).await
        }
    })*};
}

warehouse! {
    Sqlite { "?", "?", drop_database }
    // By force: the server may not have noticed yet that a killed worker is gone.
    Postgres { "$1", "$2", force_drop_database }
    MySql { "?", "?", drop_database }
}

/// The kinds, by the beginning of a URL.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Sqlite,
    Postgres,
    MySql,
}

impl Kind {
    pub fn of(url: &str) -> Result<Self> {
        match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => Ok(Self::Sqlite),
            Some("postgres" | "postgresql") => Ok(Self::Postgres),
            Some("mysql" | "mariadb") => Ok(Self::MySql),
            _ => bail!("expected postgres://… or mysql://…"),
        }
    }
}

/// A database of this run's own on the server of a URL.
pub fn fresh_on(server: &str) -> Result<String> {
    ensure!(
        !matches!(Kind::of(server)?, Kind::Sqlite),
        "SQLite is what runs without `--database`"
    );
    let (place, options) = server.split_once('?').unwrap_or((server, ""));
    let (scheme, rest) = place.split_once("://").context("not the URL of a server")?;
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    let name = format!("fulfil_{:016x}", fastrand::u64(..));
    Ok(format!("{scheme}://{host}/{name}?{options}"))
}

/// The name of the database of a URL that [`fresh_on`] made.
pub fn name(url: &str) -> &str {
    let place = url.split_once('?').map_or(url, |(place, _)| place);
    place.rsplit_once('/').map_or(place, |(_, name)| name)
}
