//! A process that runs jobs for the suite, told what to do by lines: see `idempotent_tests::worker`.

#![allow(
    clippy::duplicate_mod,
    reason = "the jobs are written once, and compiled for each database"
)]

mod mysql;
mod outside;
mod postgres;
mod sqlite;

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("the database's URL");
    let outside = outside::Outside::new();
    match url.split(':').next() {
        Some("sqlite") => sqlite::jobs::serve(&url, &outside).await,
        Some("postgres") => postgres::jobs::serve(&url, &outside).await,
        Some("mysql") => mysql::jobs::serve(&url, &outside).await,
        other => panic!("no database is called {other:?}"),
    }
}
