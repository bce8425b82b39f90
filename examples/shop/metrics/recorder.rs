//! The recorder of one process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, SharedString, Unit};

use super::{Sample, Value};

/// Keeps every series in memory; clones are one.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Series>>);

#[derive(Default)]
struct Series {
    described: BTreeMap<String, String>,
    instruments: BTreeMap<(String, String), Instrument>,
}

#[derive(Clone)]
enum Instrument {
    Counter(Arc<AtomicU64>),
    /// The bits of an `f64`.
    Gauge(Arc<AtomicU64>),
    Histogram(Arc<Summary>),
}

#[derive(Default)]
struct Summary(Mutex<(u64, f64)>);

impl HistogramFn for Summary {
    fn record(&self, value: f64) {
        let mut summary = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        summary.0 += 1;
        summary.1 += value;
    }
}

impl Recorder {
    /// The recorder of this process from here on.
    pub fn install() -> Result<Self> {
        let recorder = Self::default();
        metrics::set_global_recorder(recorder.clone())?;
        idempotent_runtime::observability::describe_metrics();
        Ok(recorder)
    }

    /// What was recorded until now.
    pub fn samples(&self) -> Vec<Sample> {
        let series = self.series();
        let samples = series.instruments.iter();
        samples
            .map(|((name, labels), instrument)| Sample {
                name: name.clone(),
                labels: labels.clone(),
                value: instrument.value(),
            })
            .collect()
    }

    /// What the metric of this name means.
    pub fn description(&self, name: &str) -> Option<String> {
        self.series().described.get(name).cloned()
    }

    fn series(&self) -> MutexGuard<'_, Series> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, name: &KeyName, description: SharedString) {
        let name = name.as_str().to_owned();
        self.series()
            .described
            .insert(name, description.into_owned());
    }

    fn instrument(&self, key: &Key, new: impl FnOnce() -> Instrument) -> Instrument {
        let labels = key.labels().map(|label| {
            let value = label.value().replace('\\', r"\\").replace('"', "\\\"");
            format!("{}=\"{value}\"", label.key())
        });
        let labels = labels.collect::<Vec<_>>().join(",");
        let mut series = self.series();
        let instrument = series.instruments.entry((key.name().to_owned(), labels));
        instrument.or_insert_with(new).clone()
    }
}

impl Instrument {
    fn value(&self) -> Value {
        match self {
            Self::Counter(counter) => Value::Counter(counter.load(Ordering::Relaxed)),
            Self::Gauge(bits) => Value::Gauge(f64::from_bits(bits.load(Ordering::Relaxed))),
            Self::Histogram(summary) => {
                let (count, sum) = *summary.0.lock().unwrap_or_else(PoisonError::into_inner);
                Value::Summary { count, sum }
            }
        }
    }
}

impl metrics::Recorder for Recorder {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, description: SharedString) {
        self.describe(&name, description);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, description: SharedString) {
        self.describe(&name, description);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, description: SharedString) {
        self.describe(&name, description);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match self.instrument(key, || Instrument::Counter(Arc::default())) {
            Instrument::Counter(counter) => Counter::from_arc(counter),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        match self.instrument(key, || Instrument::Gauge(Arc::default())) {
            Instrument::Gauge(bits) => Gauge::from_arc(bits),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        match self.instrument(key, || Instrument::Histogram(Arc::default())) {
            Instrument::Histogram(summary) => Histogram::from_arc(summary),
            _ => Histogram::noop(),
        }
    }
}
