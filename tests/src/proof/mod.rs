//! The proof: what is promised must hold while processes are killed and stopped, connections cut and
//! databases restarted.
//!
//! - [`jobs`]: the jobs that it is shown on. [`worker`]: the process that runs them.
//! - [`gateway`]: the world outside, a process that counts its charges.
//! - [`pipe`]: how processes talk, and are killed and stopped.
//! - [`database`]: what is asked of a database, and read from it at the end.
//! - [`checker`]: the promises, each with a name, over what was seen and what is left.
//! - [`sweep`]: every point of the runtime, with every way to fail there; deterministic.
//! - [`server`]: throwaway servers. [`outages`]: they restart at every point, and commits are cut.
//! - [`soak`]: many jobs under random chaos, from a seed.
//! - [`mutants`]: the protocol without one of its rules: the checker must notice, by name.
//! - [`program`]: the command line and the figures.

pub mod checker;
pub mod database;
pub mod gateway;
pub mod jobs;
pub mod mutants;
pub mod outages;
pub mod pipe;
pub mod program;
pub mod server;
pub mod soak;
pub mod sweep;
pub mod worker;

/// What fails in the proof's own machinery, or in the environment; a broken promise is a
/// [`checker::Violation`].
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
