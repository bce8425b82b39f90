//! A real PgBouncer in transaction mode, with fewer sessions than clients.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use idempotent_runtime::{Error, Job, Outcome, PgStore, Postgres, Skip, idempotent};
use idempotent_tests::need::program;
use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tempfile::TempDir;

use crate::work::{Failure, PgWorld};

/// A running PgBouncer; ends when dropped.
struct Pooler {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts one in front of the world's server.
    fn start(world: &PgWorld) -> Self {
        let server: PgConnectOptions = world.url.parse().expect("a URL of ours");
        let folder = tempfile::tempdir().expect("a folder");
        let port = TcpListener::bind("127.0.0.1:0")
            .expect("a port")
            .local_addr()
            .expect("it")
            .port();
        // sqlx keeps the password to itself.
        let password = world
            .url
            .split_once('@')
            .and_then(|(user, _)| user.rsplit_once("//")?.1.split_once(':'))
            .map_or(String::new(), |(_, password)| {
                format!("password='{password}'")
            });
        let mut settings = format!(
            "[databases]\n* = host={} port={} user={} {password}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = 3\nmax_client_conn = 500\n\
             ignore_startup_parameters = extra_float_digits\n",
            server.get_host(),
            server.get_port(),
            server.get_username(),
        );
        // It refuses to run as root.
        let id = Command::new("id")
            .arg("-u")
            .output()
            .expect("who this is")
            .stdout;
        if id.trim_ascii() == b"0" {
            settings.push_str("user = nobody\n");
        }
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("a file");
        let process = Command::new(program("pgbouncer").expect("it is installed"))
            .arg("-q")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pgbouncer starts");
        let pooler = Self {
            process,
            port,
            _folder: folder,
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "pgbouncer does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        pooler
    }

    /// A store behind it.
    async fn store(&self, world: &PgWorld, connections: u32, pooled: bool) -> PgStore {
        let options: PgConnectOptions = world.url.parse().expect("a URL of ours");
        let options = options.host("127.0.0.1").port(self.port);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .connect_with(options)
            .await;
        PgStore::new(pool.expect("a pool")).transaction_pooling(pooled)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

static ATTEMPT: AtomicU32 = AtomicU32::new(0);

fn a_third_fails() -> Result<(), Failure> {
    match ATTEMPT.fetch_add(1, Ordering::Relaxed) % 3 {
        0 => Err(Failure::Refused),
        _ => Ok(()),
    }
}

async fn leave(conn: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO effects (name) VALUES ($1)")
        .persistent(false)
        .bind(name)
        .execute(conn)
        .await
        .map(drop)
}

async fn done(conn: &mut PgConnection, n: i64) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM effects WHERE name = 'pooled_' || $1::text)")
        .persistent(false)
        .bind(n)
        .fetch_one(conn)
        .await
}

#[idempotent(key = "pooled_<n>", guard = done, wait = 20s)]
async fn pooled(conn: &mut PgConnection, n: i64) -> Result<i64, Failure> {
    leave(&mut *conn, &format!("pooled_{n}")).await?;
    a_third_fails()?;
    Ok(n)
}

#[idempotent(key = "pooled_lease_<n>", lease = 20s, wait = 20s)]
async fn pooled_lease(job: &mut Job<'_, Postgres>, n: i64) -> Result<i64, Failure> {
    job.step("outside", async |_| {
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok::<_, Failure>(())
    })
    .await??;
    job.tx_step("inside", async |conn| {
        leave(conn, &format!("step_{n}")).await
    })
    .await??;
    leave(job.tx().await?, &format!("lease_{n}")).await?;
    a_third_fails()?;
    Ok(n)
}

#[idempotent(key = "pooled_unique_<call>", unique = accounts(email), wait = 20s)]
async fn pooled_unique(conn: &mut PgConnection, call: i64, n: i64) -> Result<(), Failure> {
    sqlx::query("INSERT INTO accounts VALUES ($1)")
        .persistent(false)
        .bind(format!("{n}@example.org"))
        .execute(conn)
        .await?;
    Ok(())
}

/// Runs a call until it has an answer; gives the errors of ours on the way.
async fn until_done<T, S, F>(mut call: impl FnMut() -> F) -> Vec<Error>
where
    F: Future<Output = Result<Outcome<T, S>, Failure>>,
{
    let mut errors = Vec::new();
    loop {
        match call().await {
            Ok(_) => return errors,
            Err(Failure::Refused) => {}
            Err(Failure::Idempotent(error)) => errors.push(error),
            Err(Failure::Database(error)) => panic!("a body's own statement: {error}"),
        }
        assert!(errors.len() < 20, "{errors:?}");
    }
}

async fn all_of_it_works_with_the_option(world: PgWorld) {
    let pooler = Pooler::start(&world);
    let mut tasks = Vec::new();
    for process in 0..8 {
        let store = pooler.store(&world, 4, true).await;
        store.migrate().await.unwrap();
        for task in 0..4 {
            let store = store.clone();
            tasks.push(tokio::spawn(async move {
                let mut errors = Vec::new();
                for i in 0..40 {
                    let n = (i * 7 + task * 11 + process * 3) % 60;
                    errors.extend(until_done(|| pooled(&store, n)).await);
                    errors.extend(until_done(|| pooled_lease(&store, n)).await);
                    let call = 1000 * process + n;
                    errors.extend(until_done(|| pooled_unique(&store, call, n)).await);
                }
                errors
            }));
        }
    }
    let mut errors = Vec::new();
    for task in tasks {
        errors.extend(task.await.unwrap());
    }
    assert!(
        errors.is_empty(),
        "{} errors, such as {:?}",
        errors.len(),
        errors[0]
    );
    for prefix in ["pooled\\_%", "step\\_%", "lease\\_%"] {
        let doubles = world
            .number(
                "SELECT count(*) - count(DISTINCT name) FROM effects WHERE name LIKE ?",
                prefix,
            )
            .await;
        assert_eq!(doubles, 0, "{prefix}");
        let effects = world
            .number("SELECT count(*) FROM effects WHERE name LIKE ?", prefix)
            .await;
        assert_eq!(effects, 60, "{prefix}");
    }
    assert_eq!(
        world
            .number("SELECT count(*) FROM accounts WHERE email <> ?", "")
            .await,
        60
    );
    drop(pooler);
}

async fn jobs_join_and_operators_read_behind_it(world: PgWorld) {
    let pooler = Pooler::start(&world);
    let store = pooler.store(&world, 2, true).await;
    let mut tx = store.begin().await.unwrap();
    leave(&mut tx, "outer").await.unwrap();
    pooled_unique(store.within(&mut tx), 1, 1).await.unwrap();
    let twice = pooled_unique(store.within(&mut tx), 2, 1).await.unwrap();
    assert!(
        matches!(twice, Outcome::Skipped(Skip::Unique { .. })),
        "{twice:?}"
    );
    until_done(|| pooled(&store, 1)).await;
    tx.commit().await.unwrap();
    assert_eq!(
        (
            world.effects("outer").await,
            world.rows("pooled_unique_1").await
        ),
        (1, 1)
    );
    assert!(pooled(&store, 1).await.unwrap().is_replayed());
    store.purge().await.unwrap();
    drop(pooler);
}

/// What the option is for.
async fn without_the_option_statements_get_lost(world: PgWorld) {
    let pooler = Pooler::start(&world);
    let (mut errors, mut advice) = (0, 0);
    for n in 0..6 {
        let store = pooler.store(&world, 1, false).await;
        for i in 0..3 {
            if let Err(error) = pooled(&store, 100 * n + i).await
                && !matches!(error, Failure::Refused)
            {
                errors += 1;
                advice += i32::from(error.to_string().contains("transaction_pooling(true)"));
            }
        }
    }
    eprintln!("without the option: {errors} of 18 calls failed, {advice} with advice");
    assert!(errors > 0 && advice > 0);
    drop(pooler);
}

idempotent_tests::tests!(
    all_of_it_works_with_the_option,
    jobs_join_and_operators_read_behind_it,
    without_the_option_statements_get_lost,
);
