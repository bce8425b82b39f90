//! The functions: a third transactional with a guard, a third transactional with a constraint, a
//! third leased. All bodies are alike: a read, a write, and a receipt.

use std::fmt;

/// What the functions of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Annotated,
    ByHand,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Plain, Self::Annotated, Self::ByHand];

    /// The name of its program.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Annotated => "annotated",
            Self::ByHand => "by_hand",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program().replace('_', " "))
    }
}

/// What they share; the last part is what is written by hand in the place of the attribute.
const SHARED: &str = r#"#![allow(dead_code, clippy::all)]

use idempotent_runtime::{Job, Sqlite, SqliteStore, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::{SqliteConnection, SqlitePool};

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("not a receipt")]
    Receipt(#[from] serde_json::Error),
    #[error("another attempt is running")]
    Busy,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Receipt {
    order_id: i64,
    total: i64,
    note: String,
}

pub struct Gateway;

impl Gateway {
    pub async fn charge(&self, key: &str, total: i64) -> Result<String, Failure> {
        Ok(format!("{key}: {total}"))
    }
}

pub async fn paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<Option<bool>> {
    let paid = sqlx::query_scalar("SELECT paid FROM orders WHERE id = ?");
    paid.bind(order_id).fetch_optional(conn).await
}

/// The row of a key: `None` if it is new.
pub async fn claim(conn: &mut SqliteConnection, key: &str) -> Result<Option<Option<String>>, Failure> {
    let new = sqlx::query("INSERT INTO keys (key) VALUES (?) ON CONFLICT DO NOTHING");
    if new.bind(key).execute(&mut *conn).await?.rows_affected() == 1 {
        return Ok(None);
    }
    let stored = sqlx::query_scalar("SELECT result FROM keys WHERE key = ?");
    Ok(Some(stored.bind(key).fetch_one(conn).await?))
}

pub async fn complete(conn: &mut SqliteConnection, key: &str, result: &str) -> Result<(), Failure> {
    let done = sqlx::query("UPDATE keys SET result = ? WHERE key = ?");
    done.bind(result).bind(key).execute(conn).await?;
    Ok(())
}

pub async fn release(conn: &mut SqliteConnection, key: &str) -> Result<(), Failure> {
    let free = sqlx::query("DELETE FROM keys WHERE key = ?");
    free.bind(key).execute(conn).await?;
    Ok(())
}
"#;

/// The text of a program with so many functions, each called once.
pub fn program(kind: Kind, functions: usize) -> String {
    let mut text = SHARED.to_owned();
    let mut calls = String::new();
    for number in 0..functions {
        let leased = number % 3 == 2;
        text.push_str(&match (kind, number % 3) {
            (Kind::ByHand, 0) => by_hand_guarded(number),
            (Kind::ByHand, 1) => by_hand_constrained(number),
            (Kind::ByHand, _) => by_hand_leased(number),
            (kind, 0) => transactional(number, attribute(kind, number, "guard = paid")),
            (kind, 1) => {
                let unique = "unique = payments(order_id)";
                transactional(number, attribute(kind, number, unique))
            }
            (kind, _) => self::leased(kind, number),
        });
        calls.push_str(&call(kind, leased, number));
    }
    let place = match kind {
        Kind::Plain => "conn: &mut SqliteConnection, job: &mut Job<'_, Sqlite>",
        Kind::Annotated => "store: &SqliteStore",
        Kind::ByHand => "pool: &SqlitePool",
    };
    // All are reached from what a linker would keep.
    format!(
        "{text}\n#[unsafe(no_mangle)]\npub fn run({place}, gateway: &Gateway) {{\n    \
         let mut context = std::task::Context::from_waker(std::task::Waker::noop());\n{calls}}}\n\nfn main() {{}}\n"
    )
}

fn call(kind: Kind, leased: bool, number: usize) -> String {
    let place = match (kind, leased) {
        (Kind::Plain, false) => "&mut *conn",
        (Kind::Plain, true) => "&mut *job",
        (Kind::Annotated, _) => "store",
        (Kind::ByHand, _) => "pool",
    };
    let gateway = if leased { "gateway, " } else { "" };
    format!(
        "    let _ = std::pin::pin!(charge_{number}({place}, {gateway}42, 7)).poll(&mut context);\n"
    )
}

fn attribute(kind: Kind, number: usize, rest: &str) -> String {
    match kind {
        Kind::Annotated => {
            format!("#[idempotent(key = \"order_{number}_<order_id>\", {rest})]\n")
        }
        _ => String::new(),
    }
}

/// What the body does, on a connection of that name.
fn work(number: usize, conn: &str) -> String {
    format!(
        "    let total: i64 = sqlx::query_scalar(\"SELECT total FROM orders WHERE id = ?\")
        .bind(order_id)
        .fetch_one(&mut *{conn})
        .await?;
    let receipt = Receipt {{ order_id, total: total + amount, note: format!(\"charge {number}\") }};
    sqlx::query(\"UPDATE orders SET paid = TRUE, note = ? WHERE id = ?\")
        .bind(&receipt.note)
        .bind(order_id)
        .execute(&mut *{conn})
        .await?;
"
    )
}

fn transactional(number: usize, attribute: String) -> String {
    format!(
        "
{attribute}pub async fn charge_{number}(
    conn: &mut SqliteConnection,
    order_id: i64,
    amount: i64,
) -> Result<Receipt, Failure> {{
{}    Ok(receipt)
}}
",
        work(number, "conn")
    )
}

fn leased(kind: Kind, number: usize) -> String {
    format!(
        "
{}pub async fn charge_{number}(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    order_id: i64,
    amount: i64,
) -> Result<Receipt, Failure> {{
    let charged = gateway.charge(job.key().as_str(), amount).await?;
    let conn = job.tx().await?;
{}    Ok(Receipt {{ note: charged, ..receipt }})
}}
",
        attribute(kind, number, "guard = paid, lease = 30s"),
        work(number, "conn")
    )
}

fn by_hand_guarded(number: usize) -> String {
    format!(
        "
pub async fn charge_{number}(
    pool: &SqlitePool,
    order_id: i64,
    amount: i64,
) -> Result<Option<Receipt>, Failure> {{
    let key = format!(\"order_{number}_{{order_id}}\");
    let mut tx = pool.begin_with(\"BEGIN IMMEDIATE\").await?;
    if let Some(stored) = claim(&mut tx, &key).await? {{
        let stored = stored.ok_or(Failure::Busy)?;
        return Ok(Some(serde_json::from_str(&stored)?));
    }}
    if paid(&mut tx, order_id).await? != Some(false) {{
        tx.rollback().await?;
        return Ok(None);
    }}
{}    complete(&mut tx, &key, &serde_json::to_string(&receipt)?).await?;
    tx.commit().await?;
    Ok(Some(receipt))
}}
",
        work(number, "tx")
    )
}

fn by_hand_constrained(number: usize) -> String {
    format!(
        "
pub async fn charge_{number}(
    pool: &SqlitePool,
    order_id: i64,
    amount: i64,
) -> Result<Option<Receipt>, Failure> {{
    let key = format!(\"order_{number}_{{order_id}}\");
    let mut tx = pool.begin_with(\"BEGIN IMMEDIATE\").await?;
    if let Some(stored) = claim(&mut tx, &key).await? {{
        let stored = stored.ok_or(Failure::Busy)?;
        return Ok(Some(serde_json::from_str(&stored)?));
    }}
    let receipt: Result<Receipt, Failure> = async {{
{}    Ok(receipt)
    }}
    .await;
    let receipt = match receipt {{
        Ok(receipt) => receipt,
        Err(Failure::Database(sqlx::Error::Database(error))) if error.is_unique_violation() => {{
            tx.rollback().await?;
            return Ok(None);
        }}
        Err(error) => return Err(error),
    }};
    complete(&mut tx, &key, &serde_json::to_string(&receipt)?).await?;
    tx.commit().await?;
    Ok(Some(receipt))
}}
",
        work(number, "tx")
    )
}

fn by_hand_leased(number: usize) -> String {
    format!(
        "
pub async fn charge_{number}(
    pool: &SqlitePool,
    gateway: &Gateway,
    order_id: i64,
    amount: i64,
) -> Result<Option<Receipt>, Failure> {{
    let key = format!(\"order_{number}_{{order_id}}\");
    let mut conn = pool.acquire().await?;
    if let Some(stored) = claim(&mut conn, &key).await? {{
        let stored = stored.ok_or(Failure::Busy)?;
        return Ok(Some(serde_json::from_str(&stored)?));
    }}
    if paid(&mut conn, order_id).await? != Some(false) {{
        release(&mut conn, &key).await?;
        return Ok(None);
    }}
    drop(conn);
    let charged = match gateway.charge(&key, amount).await {{
        Ok(charged) => charged,
        Err(error) => {{
            release(&mut *pool.acquire().await?, &key).await?;
            return Err(error);
        }}
    }};
    let mut tx = pool.begin_with(\"BEGIN IMMEDIATE\").await?;
{}    let receipt = Receipt {{ note: charged, ..receipt }};
    complete(&mut tx, &key, &serde_json::to_string(&receipt)?).await?;
    tx.commit().await?;
    Ok(Some(receipt))
}}
",
        work(number, "tx")
    )
}
