//! What an operator asks of a ledger: which keys there are, how they stand, and what they left.
//!
//! - [`Store::keys`] lists keys that a [`Filter`] lets through, [`Store::key`] shows one with its
//!   steps, [`Store::stats`] counts them by job and state.
//! - [`Store::result`] and [`Store::step_result`] read what is stored; nothing else here does.
//! - [`Store::resolve`] decides on what is in doubt, [`Store::purge`] forgets what is due.
//!
//! The command `idempotent` (feature `cli`) does the same from a terminal.
//!
//! ```
//! # async fn example(store: idempotent_runtime::SqliteStore) -> idempotent_runtime::Result<()> {
//! use idempotent_runtime::operators::{Filter, KeyState};
//!
//! for key in store.keys(&Filter::new().state(KeyState::InDoubt)).await? {
//!     println!("{} of {}: {}", key.key, key.job, key.last_error.unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```

mod filter;
mod key;
mod read;
mod stats;

pub use filter::{DEFAULT_LIMIT, Filter};
pub use key::{KeyDetails, KeyInfo, KeyState, StepInfo};
pub use stats::{JobStats, Stats};

#[cfg(doc)]
use crate::Store;
