//! Leased jobs: the claim is committed first, with a lease; the body runs outside any transaction;
//! one transaction holds the job's writes and the key's completion.
//!
//! - [`begin`]: the claim, a takeover, or what is there already.
//! - [`claim`]: the key while it is held. [`run`]: the body, until its completion.

mod begin;
mod claim;
mod run;

pub(crate) use begin::begin;
pub use claim::LeasedClaim;
pub(crate) use claim::Writing;
pub(crate) use run::COMPLETION;
pub use run::LeasedRun;
