//! SQLite: the write lock is the claim.
//!
//! `BEGIN IMMEDIATE` takes the write lock before anything is read, so no other claim can be in
//! between (a deferred transaction that upgrades fails with `SQLITE_BUSY_SNAPSHOT` at once,
//! whatever `busy_timeout` says). A transactional job therefore needs no row for its claim: one
//! `INSERT` of the finished row, and the primary key has the last word.

use std::error::Error as StdError;
use std::time::Duration;

use sqlx::error::DatabaseError as _;
use sqlx::sqlite::{SqliteConnection, SqliteError};
use sqlx::{Row, SqlSafeStr, SqlStr, Sqlite};

use super::{
    Backend, Begin, Dialect, Fault, LedgerConnection, On, SCHEMA_VERSION, Violated, common_fault,
    database_error, millis,
};
use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::record::{
    Attempt, Claim, Claimed, Finish, Finished, Holder, Lease, Record, Standing, Status, Step,
};
use crate::site::Unique;

/// The ledger's tables, to paste into migrations of your own; `store.migrate()` runs the same.
pub const SQLITE_SCHEMA: &str = include_str!("../../migrations/sqlite/0001_ledger.sql");

impl Backend for Sqlite {}

impl LedgerConnection for SqliteConnection {
    type Backend = Sqlite;
}

/// The database's clock. (On SQLite that is the clock of the machine.)
macro_rules! now {
    () => {
        "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"
    };
}

mod operators;

impl Dialect for Sqlite {
    type Token = ();

    const SCHEMA_CONSTANT: &'static str = "idempotent_runtime::SQLITE_SCHEMA";
    const ONE_WRITER: bool = true;

    fn begin(_: &Begin) -> SqlStr {
        "BEGIN IMMEDIATE; SAVEPOINT idempotent_mark".into_sql_str()
    }

    fn begin_outer() -> SqlStr {
        "BEGIN IMMEDIATE".into_sql_str()
    }

    async fn migrate(On { conn, .. }: On<'_, Self>) -> Result<(), Error> {
        // Inside the caller's `BEGIN IMMEDIATE`, which is the lock against other migrations.
        match version(conn).await {
            Ok(found) if found > SCHEMA_VERSION => {
                return Err(Error::SchemaVersion {
                    found,
                    needed: SCHEMA_VERSION,
                });
            }
            Ok(_) => return refuse_read_only(conn).await,
            Err(error) if Self::fault(&error) == Fault::NoSchema => {}
            Err(error) => return Err(error.into_failed::<Self>("reading the schema's version")),
        }
        sqlx::raw_sql(SQLITE_SCHEMA)
            .execute(&mut *conn)
            .await
            .map(drop)
            .map_err(|error| error.into_failed::<Self>("creating the ledger's tables"))
    }

    async fn inspect(On { conn, .. }: On<'_, Self>) -> Result<(), Error> {
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
            .fetch_one(&mut *conn)
            .await
            .map_err(|error| error.into_failed::<Self>("reading the journal mode"))?;
        match &*mode {
            "wal" => {}
            "memory" => {
                return Err(Error::Unsupported {
                    problem:
                        "it is in memory, where each connection has a database of its own and \
                              nothing outlives the process: use a file (a temporary one in tests)"
                            .to_owned(),
                });
            }
            other => {
                return Err(Error::Unsupported {
                    problem: format!(
                        "its journal mode is `{other}`, where a reader can fail a commit: open it \
                         with `SqliteConnectOptions::journal_mode(SqliteJournalMode::Wal)`, or \
                         through `SqliteStore::open`"
                    ),
                });
            }
        }
        match version(conn).await {
            Ok(SCHEMA_VERSION) => Ok(()),
            Ok(found) => Err(Error::SchemaVersion {
                found,
                needed: SCHEMA_VERSION,
            }),
            Err(error) => Err(error.into_failed::<Self>("reading the schema's version")),
        }
    }

    async fn read(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Option<Record>> {
        let row = sqlx::query(concat!(
            "SELECT job, inputs, status, owner, fence, lease_until - ",
            now!(),
            " AS lease_left, ",
            now!(),
            " - first_at AS age, result, last_error FROM idempotent_keys WHERE key = ?"
        ))
        .bind(key)
        .fetch_optional(conn)
        .await?;
        row.map(|row| {
            Ok(Record {
                job: row.try_get("job")?,
                inputs: row.try_get("inputs")?,
                status: Status::from_number(row.try_get("status")?),
                owner: row.try_get("owner")?,
                fence: row.try_get("fence")?,
                lease: Lease::from_left(row.try_get("lease_left")?),
                age: Duration::from_millis(row.try_get::<i64, _>("age")?.try_into().unwrap_or(0)),
                result: row.try_get("result")?,
                last_error: row.try_get("last_error")?,
            })
        })
        .transpose()
    }

    async fn claim(
        On { conn, pooled }: On<'_, Self>,
        claim: &Claim<'_>,
    ) -> sqlx::Result<Claimed<Self::Token>> {
        if claim.joined {
            // An escape of the body shows when this mark is gone. The write lock comes first: a
            // transaction that only reads later fails with a stale snapshot when it writes.
            sqlx::query("SAVEPOINT idempotent_mark")
                .execute(&mut *conn)
                .await?;
            sqlx::query("UPDATE idempotent_meta SET version = version WHERE 0")
                .execute(&mut *conn)
                .await?;
        }
        Ok(
            match Self::read(On { conn, pooled }, claim.key.as_str()).await? {
                Some(record) => Claimed::Taken(Some(record)),
                None => Claimed::Fresh(()),
            },
        )
    }

    async fn run_raw(conn: &mut SqliteConnection, statements: SqlStr) -> sqlx::Result<()> {
        sqlx::raw_sql(statements).execute(conn).await.map(drop)
    }

    async fn undo_body(On { conn, .. }: On<'_, Self>, _: &Claim<'_>) -> sqlx::Result<()> {
        sqlx::query("ROLLBACK TO idempotent_mark")
            .execute(conn)
            .await
            .map(drop)
    }

    async fn check_deferred(_: On<'_, Self>) -> sqlx::Result<()> {
        // Unique constraints are never deferred here.
        Ok(())
    }

    async fn finish(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        (): &(),
        finish: &Finish<'_>,
    ) -> sqlx::Result<Finished> {
        // First of all: outside of the transaction the insert would commit by itself.
        if !release_mark(conn).await? {
            return Ok(Finished::Escaped);
        }
        sqlx::query(concat!(
            "INSERT INTO idempotent_keys (key, job, inputs, status, owner, fence, attempts, result, \
             first_at, claimed_at, finished_at, forget_at) SELECT ?, ?, ?, 1, ?, 1, 1, ?, now, now, \
             now, now + ? FROM (SELECT ",
            now!(),
            " AS now)"
        ))
        .bind(claim.key.as_str())
        .bind(claim.job)
        .bind(claim.inputs)
        .bind(&claim.owner[..])
        .bind(finish.result)
        .bind(finish.retain.map(millis))
        .execute(conn)
        .await?;
        Ok(Finished::Done)
    }

    async fn still_ours(
        On { conn, .. }: On<'_, Self>,
        _: &Claim<'_>,
        _: Option<&()>,
    ) -> sqlx::Result<Standing> {
        Ok(if release_mark(conn).await? {
            Standing::Open
        } else {
            Standing::Escaped
        })
    }

    async fn lease(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
    ) -> sqlx::Result<Option<Attempt>> {
        let row = sqlx::query(concat!(
            "INSERT INTO idempotent_keys (key, job, inputs, status, owner, fence, attempts, \
             lease_until, first_at, claimed_at) SELECT ?, ?, ?, 0, ?, 1, 1, now + ?, now, now FROM \
             (SELECT ",
            now!(),
            " AS now) WHERE true ON CONFLICT (key) DO NOTHING RETURNING fence, attempts"
        ))
        .bind(claim.key.as_str())
        .bind(claim.job)
        .bind(claim.inputs)
        .bind(&claim.owner[..])
        .bind(millis(lease))
        .fetch_optional(conn)
        .await?;
        row.map(|row| attempt(&row)).transpose()
    }

    async fn take_over(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        lease: Duration,
        seen: i64,
    ) -> sqlx::Result<Option<Attempt>> {
        let row = sqlx::query(concat!(
            "UPDATE idempotent_keys SET owner = ?, fence = fence + 1, attempts = attempts + 1, \
             claimed_at = ",
            now!(),
            ", lease_until = ",
            now!(),
            " + ? WHERE key = ? AND status = 0 AND fence = ? AND lease_until < ",
            now!(),
            " RETURNING fence, attempts"
        ))
        .bind(&claim.owner[..])
        .bind(millis(lease))
        .bind(claim.key.as_str())
        .bind(seen)
        .fetch_optional(conn)
        .await?;
        row.map(|row| attempt(&row)).transpose()
    }

    async fn renew(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        lease: Duration,
    ) -> sqlx::Result<bool> {
        let done = sqlx::query(concat!(
            "UPDATE idempotent_keys SET lease_until = ",
            now!(),
            " + ? WHERE key = ? AND status = 0 AND owner = ? AND fence = ?"
        ))
        .bind(millis(lease))
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .execute(conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn release(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        why: &str,
    ) -> sqlx::Result<bool> {
        let done = sqlx::query(
            "UPDATE idempotent_keys SET lease_until = 0, last_error = ? \
             WHERE key = ? AND status = 0 AND owner = ? AND fence = ?",
        )
        .bind(why)
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .execute(conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn discard(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
    ) -> sqlx::Result<bool> {
        let done = sqlx::query(
            "DELETE FROM idempotent_keys WHERE key = ? AND status = 0 AND owner = ? AND fence = ?",
        )
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .execute(conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn finish_lease(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        finish: &Finish<'_>,
    ) -> sqlx::Result<Finished> {
        if !release_mark(conn).await? {
            return Ok(Finished::Escaped);
        }
        let done = sqlx::query(concat!(
            "UPDATE idempotent_keys SET status = 1, lease_until = NULL, result = ?, last_error = NULL, \
             finished_at = ",
            now!(),
            ", forget_at = ",
            now!(),
            " + ? WHERE key = ? AND status = 0 AND owner = ? AND fence = ?"
        ))
        .bind(finish.result)
        .bind(finish.retain.map(millis))
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .execute(conn)
        .await?;
        Ok(if done.rows_affected() == 1 {
            Finished::Done
        } else {
            Finished::Lost
        })
    }

    async fn steps(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<Vec<Step>> {
        let rows =
            sqlx::query("SELECT name, result FROM idempotent_steps WHERE key = ? ORDER BY at")
                .bind(key)
                .fetch_all(conn)
                .await?;
        rows.iter()
            .map(|row| {
                Ok(Step {
                    name: row.try_get("name")?,
                    result: row.try_get("result")?,
                })
            })
            .collect()
    }

    async fn record_step(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        // Two steps within a millisecond still have an order.
        let done = sqlx::query(concat!(
            "INSERT INTO idempotent_steps (key, name, result, fence, at) SELECT key, ?, ?, fence, max(",
            now!(),
            ", (SELECT coalesce(max(s.at), 0) + 1 FROM idempotent_steps AS s \
               WHERE s.key = idempotent_keys.key)) FROM idempotent_keys WHERE key = ? AND status = 0 AND owner = ? AND fence = ?"
        ))
        .bind(&step.name)
        .bind(&step.result)
        .bind(key)
        .bind(&holder.owner[..])
        .bind(holder.fence)
        .execute(conn)
        .await?;
        Ok(if done.rows_affected() == 1 {
            Finished::Done
        } else {
            Finished::Lost
        })
    }

    async fn finish_step(
        On { conn, pooled }: On<'_, Self>,
        key: &str,
        holder: &Holder,
        step: &Step,
    ) -> sqlx::Result<Finished> {
        if !release_mark(conn).await? {
            return Ok(Finished::Escaped);
        }
        Self::record_step(On { conn, pooled }, key, holder, step).await
    }

    async fn doubt(
        On { conn, .. }: On<'_, Self>,
        claim: &Claim<'_>,
        why: &str,
    ) -> sqlx::Result<()> {
        sqlx::query(concat!(
            "INSERT INTO idempotent_keys (key, job, inputs, status, owner, fence, attempts, \
             last_error, first_at, claimed_at) SELECT ?, ?, ?, 2, ?, 1, 1, ?, now, now FROM (SELECT ",
            now!(),
            " AS now) WHERE true ON CONFLICT (key) DO UPDATE SET status = 2, lease_until = NULL, \
             last_error = excluded.last_error WHERE status = 0"
        ))
        .bind(claim.key.as_str())
        .bind(claim.job)
        .bind(claim.inputs)
        .bind(&claim.owner[..])
        .bind(why)
        .execute(conn)
        .await
        .map(drop)
    }

    async fn resolve_done(
        On { conn, .. }: On<'_, Self>,
        key: &str,
        result: &[u8],
    ) -> sqlx::Result<bool> {
        let done = sqlx::query(concat!(
            "UPDATE idempotent_keys SET status = 1, fence = fence + 1, lease_until = NULL, result = ?, \
             finished_at = ",
            now!(),
            " WHERE key = ? AND (status = 2 OR status = 0 AND coalesce(lease_until, 0) < ",
            now!(),
            ")"
        ))
        .bind(result)
        .bind(key)
        .execute(conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn resolve_again(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<bool> {
        let done = sqlx::query(concat!(
            "DELETE FROM idempotent_keys WHERE key = ? AND \
             (status = 2 OR status = 0 AND coalesce(lease_until, 0) < ",
            now!(),
            ")"
        ))
        .bind(key)
        .execute(conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn resolve_forget(On { conn, .. }: On<'_, Self>, key: &str) -> sqlx::Result<bool> {
        let done = sqlx::query(concat!(
            "DELETE FROM idempotent_keys WHERE key = ? AND (status <> 0 OR coalesce(lease_until, 0) < ",
            now!(),
            ")"
        ))
        .bind(key)
        .execute(&mut *conn)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query("DELETE FROM idempotent_steps WHERE key = ?")
            .bind(key)
            .execute(conn)
            .await?;
        Ok(true)
    }

    async fn purge(On { conn, .. }: On<'_, Self>, limit: u32) -> sqlx::Result<u64> {
        // One instant for both statements, or a key could go and leave its steps.
        let now: i64 = sqlx::query_scalar(concat!("SELECT ", now!()))
            .fetch_one(&mut *conn)
            .await?;
        sqlx::query(
            "DELETE FROM idempotent_steps WHERE key IN (SELECT key FROM idempotent_keys \
             WHERE forget_at < ? AND status = 1 ORDER BY forget_at, key LIMIT ?)",
        )
        .bind(now)
        .bind(limit)
        .execute(&mut *conn)
        .await?;
        let done = sqlx::query(
            "DELETE FROM idempotent_keys WHERE key IN (SELECT key FROM idempotent_keys \
             WHERE forget_at < ? AND status = 1 ORDER BY forget_at, key LIMIT ?)",
        )
        .bind(now)
        .bind(limit)
        .execute(conn)
        .await?;
        Ok(done.rows_affected())
    }

    async fn describe(
        On { conn, .. }: On<'_, Self>,
        violated: Violated,
        wanted: &Unique,
    ) -> sqlx::Result<Violated> {
        // SQLite reports the columns. A name is that of a unique index over the same ones.
        let (Unique::Named(name), Some(table)) = (wanted, &violated.table) else {
            return Ok(violated);
        };
        let columns: Vec<Option<String>> = sqlx::query_scalar(
            "SELECT info.name FROM sqlite_schema AS index_, pragma_index_info(index_.name) AS info \
             WHERE index_.type = 'index' AND index_.name = ? COLLATE NOCASE \
             AND index_.tbl_name = ? COLLATE NOCASE",
        )
        .bind(*name)
        .bind(table)
        .fetch_all(conn)
        .await?;
        let columns: Option<Vec<String>> = columns.into_iter().collect();
        let is_it = columns.is_some_and(|columns| violated.covers(table, &columns));
        Ok(Violated {
            name: is_it.then(|| (*name).to_owned()),
            ..violated
        })
    }

    fn fault(error: &sqlx::Error) -> Fault {
        let sqlx::Error::Database(database) = error else {
            return common_fault(error);
        };
        let code = code(&**database);
        match (code, code & 0xff) {
            (517, _) => Fault::StaleSnapshot,
            // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL (a race at opening).
            (_, 5 | 6 | 15) => Fault::Locked,
            (1, _) if database.message().starts_with("no such table: idempotent_") => {
                Fault::NoSchema
            }
            _ => Fault::Lasting,
        }
    }

    fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
        let error = database_error::<SqliteError>(link)?;
        if !error.is_unique_violation() {
            return None;
        }
        // "UNIQUE constraint failed: t.a, t.b", or "index 'name'" for one over expressions.
        let list = error.message().strip_prefix("UNIQUE constraint failed: ")?;
        if let Some(name) = list.strip_prefix("index '") {
            return Some(Violated {
                name: Some(name.trim_end_matches('\'').to_owned()),
                schema: None,
                table: None,
                columns: None,
                values: None,
            });
        }
        let pairs: Vec<(&str, &str)> = list
            .split(", ")
            .map(|pair| pair.rsplit_once('.'))
            .collect::<Option<_>>()?;
        Some(Violated {
            name: None,
            schema: None,
            table: pairs.first().map(|(table, _)| (*table).to_owned()),
            columns: Some(
                pairs
                    .iter()
                    .map(|(_, column)| (*column).to_owned())
                    .collect(),
            ),
            values: None,
        })
    }
}

/// An error's number, with what is special about it; 0 where there is none.
fn code(error: &dyn sqlx::error::DatabaseError) -> i32 {
    let code = error.code().and_then(|code| code.parse().ok());
    code.unwrap_or(0)
}

/// The same, without.
fn primary_code(error: &dyn sqlx::error::DatabaseError) -> i32 {
    code(error) & 0xff
}

/// A file that takes no writes is opened like any other, and `BEGIN IMMEDIATE` succeeds on it.
async fn refuse_read_only(conn: &mut SqliteConnection) -> Result<(), Error> {
    const READ_ONLY: i32 = 8;
    let nothing = "UPDATE idempotent_meta SET version = version WHERE FALSE";
    match sqlx::query(nothing).execute(conn).await {
        Ok(_) => Ok(()),
        Err(sqlx::Error::Database(error)) if primary_code(&*error) == READ_ONLY => {
            Err(Error::Unsupported {
                problem: "it is read-only: give this process a file, and a folder, that it may \
                          write"
                    .to_owned(),
            })
        }
        Err(error) => Err(error.into_failed::<sqlx::Sqlite>("writing to the ledger's tables")),
    }
}

async fn version(conn: &mut SqliteConnection) -> sqlx::Result<i32> {
    sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM idempotent_meta")
        .fetch_one(conn)
        .await
}

/// Releases the mark; `false` where it is gone, for the body ended the transaction.
async fn release_mark(conn: &mut SqliteConnection) -> sqlx::Result<bool> {
    match sqlx::query("RELEASE idempotent_mark").execute(conn).await {
        Ok(_) => Ok(true),
        Err(sqlx::Error::Database(error)) if error.message().starts_with("no such savepoint") => {
            Ok(without!("the escape check"))
        }
        Err(error) => Err(error),
    }
}

fn attempt(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Attempt> {
    Ok(Attempt {
        fence: row.try_get("fence")?,
        number: row.try_get("attempts")?,
    })
}
