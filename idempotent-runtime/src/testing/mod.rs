#![doc = include_str!("../docs/lab.md")]

mod attempt;
mod cause;
mod database;
mod diff;
mod error;
mod lab;
mod report;
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
pub use report::{CutPoint, Difference, Report, Scenario};
