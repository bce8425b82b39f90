//! Throughput of idempotent jobs against the same work written by hand, in one process, in turn.
//!
//! ```sh
//! cargo bench -p idempotent-runtime --bench throughput -- --database sqlite
//! cargo bench -p idempotent-runtime --bench throughput -- --database postgres://…
//! ```
//!
//! The contender ([`hand`]) is what an expert writes in raw sqlx for the database at hand, and does
//! the same work: it claims, asks the guard before and after, stores the result and decodes it.
//! Rounds alternate, and what is reported is the ratio of each pair, so that a machine whose speed
//! drifts does not decide. `--quick` is for a look, not for figures to quote.

mod cases;
mod hand;
mod jobs;
mod measure;
mod options;
mod plot;
mod report;
mod world;

use options::Options;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::from_args()?;
    match options.database.split(':').next() {
        Some("postgres" | "postgresql") => cases::run::<sqlx::Postgres>(&options).await,
        Some("mysql" | "mariadb") => cases::run::<sqlx::MySql>(&options).await,
        _ => cases::run::<sqlx::Sqlite>(&options).await,
    }
}
