//! What the runtime counts (`--metrics`): a recorder in each process, and what they come to together.
//!
//! An application installs a recorder that somebody scrapes, such as metrics-exporter-prometheus.
//! Here nobody would, and the workers are killed: each tells its parent after every call instead.

mod measured;
mod recorder;

use serde::{Deserialize, Serialize};

pub use measured::Measured;
pub use recorder::Recorder;

/// One series, as it stands in one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    pub name: String,
    /// As Prometheus writes them: `job="charge_payment",outcome="performed"`.
    pub labels: String,
    pub value: Value,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Value {
    Counter(u64),
    Gauge(f64),
    /// Of a histogram, how many there were, and their sum.
    Summary {
        count: u64,
        sum: f64,
    },
}
