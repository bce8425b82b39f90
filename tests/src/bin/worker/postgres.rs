//! The jobs on this file's database.

use idempotent_tests::postgres as db;

#[path = "jobs/mod.rs"]
pub mod jobs;
