//! What all processes measured, together.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::rc::Rc;

use super::{Recorder, Sample, Value};

/// The last samples of each worker, by a number; clones are one.
#[derive(Clone, Debug, Default)]
pub struct Measured(Rc<RefCell<HashMap<u64, Vec<Sample>>>>);

impl Measured {
    /// What a worker has measured since it began: it takes the place of what it told before.
    pub fn told(&self, worker: u64, samples: Vec<Sample>) {
        self.0.borrow_mut().insert(worker, samples);
    }

    /// All of it, and the parent's own, as Prometheus would scrape it.
    pub fn exposition(&self, own: &Recorder) -> String {
        let mut sums: BTreeMap<(String, String), Value> = BTreeMap::new();
        let told = self.0.borrow();
        for sample in told.values().flatten().cloned().chain(own.samples()) {
            let sum = sums.entry((sample.name, sample.labels));
            sum.and_modify(|sum| *sum = sum.plus(sample.value))
                .or_insert(sample.value);
        }
        let mut text = String::new();
        let mut last = String::new();
        for ((name, labels), value) in &sums {
            if *name != last {
                if let Some(meaning) = own.description(name) {
                    let _ = writeln!(text, "# HELP {name} {meaning}");
                }
                let _ = writeln!(text, "# TYPE {name} {}", value.kind());
                last.clone_from(name);
            }
            let labels = match &**labels {
                "" => String::new(),
                labels => format!("{{{labels}}}"),
            };
            let _ = match value {
                Value::Counter(count) => writeln!(text, "{name}{labels} {count}"),
                Value::Gauge(value) => writeln!(text, "{name}{labels} {value}"),
                Value::Summary { count, sum } => {
                    let _ = writeln!(text, "{name}_sum{labels} {sum:.6}");
                    writeln!(text, "{name}_count{labels} {count}")
                }
            };
        }
        text
    }
}

impl Value {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Counter(a), Self::Counter(b)) => Self::Counter(a + b),
            (Self::Gauge(a), Self::Gauge(b)) => Self::Gauge(a + b),
            (Self::Summary { count: m, sum: a }, Self::Summary { count: n, sum: b }) => {
                Self::Summary {
                    count: m + n,
                    sum: a + b,
                }
            }
            // A name has one kind.
            (first, _) => first,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Summary { .. } => "summary",
        }
    }
}
