//! Programs to run and to read.
//!
//! - `cargo run --example shop`: a shop on a real database, with a payment
//!   gateway and a mail server in processes of their own. It runs its jobs again
//!   and again, many at once, and kills the workers in the middle; then it counts
//!   what happened. `-- --naive` does the same to hand-written jobs. It runs on SQLite, and with
//!   `-- --database URL` on a PostgreSQL or MySQL server.
//! - `cargo run --example workers`: four worker processes on an existing queue (apalis), with jobs
//!   that come twice, workers that are killed, and poison jobs; `-- --naive` does the same to
//!   handlers written by hand, and `-- --queue URL` puts the queue on PostgreSQL or Redis.
//! - `checkout_api`: an HTTP API with an `Idempotency-Key`.
//! - `cargo run --example fulfil`: an order in three steps (reserve, charge, ship), with worker
//!   processes killed between any two of them, and between an effect and its record. It takes
//!   `-- --database URL` too.
//! - `cargo run --example late`: a gateway that forgets keys, an attempt that was left over, and what
//!   `key_window`, `reconcile` and `store.resolve` do about it.
//! - `any_database`: a job that is generic over its database.
//! - `send_welcome_email`, `charge_payment`, `create_invoice` and
//!   `provision_account`: one job each, run twice, about forty lines.

/// The examples of the page on queues compile and run. Here, and not in the runtime's own
/// documentation, for they need a queue.
#[cfg(doctest)]
#[doc = include_str!("../../docs/queues.md")]
pub struct Queues;
