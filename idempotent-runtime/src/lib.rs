#![doc = include_str!("docs/crate.md")]

#[macro_use]
mod point;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod answer;
mod asked;
#[cfg(feature = "axum")]
pub mod axum;
mod chain;
mod codec;
pub mod compiler_errors;
mod contract;
mod dialect;
mod end;
mod error;
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub mod failpoint;
mod gate;
mod held;
mod input;
mod job;
mod key;
mod ledger;
pub mod observability;
mod observe;
mod open;
pub mod operators;
mod outcome;
mod patience;
mod resolve;
mod retention;
mod retry;
mod site;
mod steps;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tx;
mod watch;
mod within;

#[cfg(feature = "mysql")]
pub use dialect::mysql::MYSQL_SCHEMA;
#[cfg(feature = "postgres")]
pub use dialect::postgres::POSTGRES_SCHEMA;
#[cfg(feature = "sqlite")]
pub use dialect::sqlite::SQLITE_SCHEMA;
/// Derives [`KeyPart`](trait@KeyPart) for a newtype, or for an enum without fields.
pub use idempotent_macros::KeyPart;
#[doc = include_str!("docs/attribute.md")]
pub use idempotent_macros::idempotent;

pub use answer::{
    CertainAnswer, ConditionAnswer, ExistingAnswer, FromAnswer, GuardAnswer, LookUpAnswer,
};
pub use asked::{Awaited, Takes};
pub use chain::Chained;
pub use contract::{FromRuntime, Stored};
pub use dialect::{Backend, LedgerConnection};
pub use error::{Error, Result, ShownKey};
pub use input::Input;
pub use job::Job;
pub use key::{Key, KeyPart, KeyWriter, MAX_KEY_BYTES};
#[cfg(feature = "mysql")]
pub use open::MySqlStore;
#[cfg(feature = "postgres")]
pub use open::PgStore;
#[cfg(feature = "sqlite")]
pub use open::SqliteStore;
pub use outcome::{Idempotent, JobResult, Never, Outcome, Skip, SkipReason};
pub use resolve::Resolution;
#[cfg(feature = "mysql")]
pub use sqlx::MySql;
#[cfg(feature = "postgres")]
pub use sqlx::Postgres;
#[cfg(feature = "sqlite")]
pub use sqlx::Sqlite;
pub use store::{DEFAULT_RESULT_LIMIT, Store};
pub use within::{IntoStore, Within, WithinTx};
