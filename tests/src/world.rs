//! A fresh database with a small business in it.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Backend, Store};
use sqlx::Pool;

/// A database of its own for one test.
pub struct World<DB: TestDatabase> {
    /// The store, on a pool of eight connections.
    pub store: Store<DB>,
    /// Where the database is, to open it again or from another process.
    pub url: String,
    guard: Arc<DB::Guard>,
}

/// What a database must offer to be tested.
pub trait TestDatabase: Backend {
    /// Keeps what the world stands on.
    type Guard: Send + Sync;

    /// The variable that names the server, if there is one.
    const SERVER: Option<&'static str>;

    /// The business tables, in this database's words.
    const BUSINESS: &'static str;

    /// The ledger's rows of a key (`?`), counted.
    const KEY_ROWS: &'static str;

    /// Ends a key's (`?`) lease, as if its time had passed.
    const END_LEASE: &'static str;

    /// Makes a key's (`?`) first attempt two days old.
    const AGE: &'static str;

    /// Ends a key's (`?`) retention, as if its time had passed.
    const END_RETENTION: &'static str;

    /// Makes all times of a key (`?`) an hour older, as a clock does that jumps ahead.
    const AN_HOUR_AHEAD: &'static str;

    /// The other way round.
    const AN_HOUR_BACK: &'static str;

    /// The fence of a key (`?`): how often it was taken over, and once for its claim.
    const FENCE: &'static str;

    /// Begins a transaction that keeps claims of `blocked_1` and `blocked_leased_1` waiting.
    const HOLD_LEDGER: &'static str;

    /// Begins a transaction whose snapshot is that of its first read, if there is such a thing.
    const BEGIN_SNAPSHOT: &'static str;

    /// Whether a change of the schema commits what came before it.
    const DDL_COMMITS: bool;

    /// Whether one write transaction keeps every other out of the database.
    const ONE_WRITER: bool;

    /// A statement that fails; after it, if [`UNDOES_ON_ERROR`](Self::UNDOES_ON_ERROR), nothing of
    /// the transaction is left. There is an account `taken`.
    const UNDOING_ERROR: &'static str;

    /// See there.
    const UNDOES_ON_ERROR: bool;

    /// Makes 20,000 finished keys whose retention has passed.
    const EXPIRED_KEYS: &'static str;

    /// Limits, for sessions that begin later, how long one may be idle in a transaction to a second,
    /// where the database can.
    const IDLE_LIMIT: &'static str;

    /// Makes an empty database on a server.
    fn create(server: &str) -> impl Future<Output = (String, Self::Guard)> + Send;

    /// The server of the tests; empty where there is none.
    fn server() -> String {
        Self::SERVER.map_or_else(String::new, |name| std::env::var(name).expect("a server"))
    }

    /// Drops it.
    fn drop_database(guard: &Self::Guard) -> impl Future<Output = ()> + Send;

    /// Opens a pool on a database.
    fn pool(url: &str, connections: u32) -> impl Future<Output = Pool<Self>> + Send;

    /// Runs statements that return nothing.
    fn run(pool: &Pool<Self>, sql: &'static str) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Whether a connection is inside a transaction, whoever began it.
    fn in_transaction(conn: &mut Self::Connection) -> impl Future<Output = bool> + Send;

    /// Changes rows, and gives their number.
    fn change(
        pool: &Pool<Self>,
        sql: &'static str,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// Runs a query for one number.
    fn number(
        pool: &Pool<Self>,
        sql: &'static str,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<i64>> + Send;
}

/// How many connections a world's pool has.
pub const POOL: u32 = 8;

impl<DB: TestDatabase> World<DB> {
    /// A fresh database: the ledger, and the business of the suite.
    pub async fn fresh() -> Self {
        Self::on(&DB::server()).await
    }

    /// The same on a server of the caller's.
    pub async fn on(server: &str) -> Self {
        let (url, guard) = DB::create(server).await;
        let pool = DB::pool(&url, POOL).await;
        DB::run(&pool, DB::BUSINESS)
            .await
            .expect("the business tables");
        let store = Store::new(pool);
        store.migrate().await.expect("the ledger");
        Self {
            store,
            url,
            guard: Arc::new(guard),
        }
    }

    /// Another store on the same database, as another process would have.
    pub async fn another(&self, connections: u32) -> Store<DB> {
        Store::new(DB::pool(&self.url, connections).await)
    }

    /// The same, where a connection is waited for no longer than this.
    pub async fn impatient(&self, connections: u32, patience: Duration) -> Store<DB> {
        let pool = DB::pool(&self.url, connections).await;
        let options = pool.options().clone().acquire_timeout(patience);
        Store::new(options.connect_lazy_with((*pool.connect_options()).clone()))
    }

    /// Runs statements on the database.
    pub async fn run(&self, sql: &'static str) {
        DB::run(self.store.pool(), sql).await.expect(sql);
    }

    /// A number from the database; `sql` has one parameter, `?`.
    pub async fn number(&self, sql: &'static str, key: &str) -> i64 {
        DB::number(self.store.pool(), sql, key).await.expect(sql)
    }

    /// How often the effect of a name was left in the database.
    pub async fn effects(&self, name: &str) -> i64 {
        self.number("SELECT count(*) FROM effects WHERE name = ?", name)
            .await
    }

    /// How many rows the ledger has for a key.
    pub async fn rows(&self, key: &str) -> i64 {
        self.number(DB::KEY_ROWS, key).await
    }

    /// The fence of a key.
    pub async fn fence(&self, key: &str) -> i64 {
        self.number(DB::FENCE, key).await
    }

    /// Ends a key's lease, as if its time had passed.
    pub async fn end_lease(&self, key: &str) {
        assert_eq!(self.change(DB::END_LEASE, key).await, 1, "no row of {key}");
    }

    /// Makes a key's first attempt two days old.
    pub async fn age(&self, key: &str) {
        assert_eq!(self.change(DB::AGE, key).await, 1, "no row of {key}");
    }

    /// Ends a key's retention, as if its time had passed.
    pub async fn end_retention(&self, key: &str) {
        assert_eq!(
            self.change(DB::END_RETENTION, key).await,
            1,
            "no row of {key}"
        );
    }

    /// Changes rows, and gives their number; `sql` has one parameter, `?`.
    pub async fn change(&self, sql: &'static str, key: &str) -> u64 {
        DB::change(self.store.pool(), sql, key).await.expect(sql)
    }

    /// Drops the database.
    pub async fn end(self) {
        self.store.pool().close().await;
        DB::drop_database(&self.guard).await;
    }
}

/// Whether the next connection of a pool is inside a transaction that somebody left open.
pub async fn left_open<DB: TestDatabase>(pool: &Pool<DB>) -> bool {
    let mut conn = pool.acquire().await.expect("a connection");
    DB::in_transaction(&mut conn).await
}

impl<DB: TestDatabase> Clone for World<DB> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            url: self.url.clone(),
            guard: Arc::clone(&self.guard),
        }
    }
}

/// Waits until a condition on the database holds; panics after ten seconds.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while !holds().await {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A name that no other test has.
pub fn uuid_like() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!(
        "{:x}_{}_{}",
        now.as_micros(),
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}
