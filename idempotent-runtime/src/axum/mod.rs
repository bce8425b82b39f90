//! Jobs behind an HTTP API made with axum.
//!
//! - [`IdempotencyKey`] takes the key that the client sends.
//! - [`Outcome`](crate::Outcome) and [`Error`](crate::Error) are responses; errors are problem
//!   details (RFC 9457).
//! - A handler can be annotated as it stands: `store = …` takes the store from its state.
//!
//! ```
//! use axum::extract::{Path, State};
//! use axum::{Json, Router, routing::post};
//! use idempotent_runtime::axum::IdempotencyKey;
//! use idempotent_runtime::{Error, SqliteStore, idempotent};
//! use sqlx::SqliteConnection;
//!
//! #[derive(Clone)]
//! struct Shop {
//!     store: SqliteStore,
//! }
//!
//! #[idempotent(key = "pay_<key>", store = shop.store, retain = 1d)]
//! async fn pay(
//!     conn: &mut SqliteConnection,
//!     State(shop): State<Shop>,
//!     Path(order_id): Path<i64>,
//!     key: IdempotencyKey,
//!     Json(amount): Json<i64>,
//! ) -> Result<String, Error> {
//!     Ok(format!("{amount} paid for order {order_id}"))
//! }
//!
//! # fn app(store: SqliteStore) -> Router {
//! Router::new()
//!     .route("/orders/{id}/pay", post(pay))
//!     .with_state(Shop { store })
//! # }
//! ```
//!
//! A second request with the key gets the first one's answer, with the header
//! `idempotent-replayed: true`; with another amount it gets 422, and while the first one is at work
//! 409.
//!
//! **Keys belong to who sends them.** Where clients must not meet in one key space, put the account
//! into the key: `key = "<account>:pay:<key>"`. And a client may send two keys for one piece of work:
//! what must happen once for each order is a job of its own, with the order in its key.

mod idempotency_key;
mod problem;
mod response;
mod structured;

pub use idempotency_key::{IDEMPOTENCY_KEY, IdempotencyKey, IdempotencyKeyRejection};
pub use response::{REPLAYED, SKIPPED};
