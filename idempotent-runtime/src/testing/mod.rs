#![doc = include_str!("../docs/lab.md")]

mod attempt;
mod cause;
mod database;
mod diff;
mod error;
mod lab;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod relay;
mod report;
mod scenario;
mod seen;
mod snapshot;
mod statements;
mod trials;
mod turns;
mod world;

pub use cause::Cause;
pub use database::LabDatabase;
pub use error::{BoxError, LabError};
pub use lab::{Experiment, Lab, Setting};
pub use report::{Difference, Report};
pub use scenario::{CutPoint, Scenario};
