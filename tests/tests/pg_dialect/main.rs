//! PostgreSQL on its own: what the suite for all databases cannot say in words that all of them
//! understand.

#![allow(
    unused_variables,
    unused_must_use,
    reason = "what a job keys itself by, and outcomes that are told by their effects"
)]

mod cut;
mod escape;
mod joined;
mod lease;
mod pooler;
mod schema;
mod settings;
mod storm;
mod unique;
mod waiting;
mod work;
