//! The payment gateway: a server in a process of its own, and its client.
//!
//! It treats `Idempotency-Key` as the large gateways do (and as the IETF's
//! `draft-ietf-httpapi-idempotency-key-header` writes down):
//!
//! - the same key with the same body gets the first answer again, and no charge;
//! - the same key with another body is refused: 422;
//! - the same key while the first request is still being worked on: 409;
//! - no key: every request is a new charge.

mod client;
mod server;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use client::{Gateway, GatewayError, report};
pub use server::serve;

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Charge {
    order_id: i64,
    cents: i64,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub charge_id: String,
}

/// What the gateway counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Requests for a charge, whatever became of them.
    pub requests: u64,
    /// Charges made, by order.
    pub charges: BTreeMap<i64, u64>,
}
