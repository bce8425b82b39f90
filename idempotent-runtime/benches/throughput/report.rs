//! The table for people, and a line a figure for machines.

use std::time::Duration;

use crate::measure::{Pairs, Round, median};

pub(crate) fn heading(database: &str, version: &str) {
    println!("\n{database} ({version})");
    println!(
        "{:<28} {:>5} {:>11} {:>11} {:>9} {:>9} {:>9} {:>9}  ratio (quartiles)",
        "case", "tasks", "hand/s", "ours/s", "hand p50", "ours p50", "hand p99", "ours p99"
    );
}

pub(crate) fn pairs(case: &str, tasks: usize, jobs: usize, pairs: &Pairs) {
    let rate = |rounds: &[Round]| {
        let wall = median(rounds.iter().map(|round| round.wall).collect());
        #[allow(clippy::cast_precision_loss, reason = "a count of jobs")]
        let jobs = jobs as f64;
        jobs / wall.as_secs_f64()
    };
    let quantile = |rounds: &[Round], share| {
        millis(median(
            rounds.iter().map(|round| round.quantile(share)).collect(),
        ))
    };
    let wall = pairs.ratio(|round| round.wall);
    println!(
        "{case:<28} {tasks:>5} {:>11.0} {:>11.0} {:>9} {:>9} {:>9} {:>9}  {:.2} ({:.2}..{:.2})",
        rate(&pairs.hand),
        rate(&pairs.ours),
        quantile(&pairs.hand, 0.5),
        quantile(&pairs.ours, 0.5),
        quantile(&pairs.hand, 0.99),
        quantile(&pairs.ours, 0.99),
        wall.median,
        wall.low,
        wall.high,
    );
    figure(&format!("{case}-{tasks}"), wall);
    figure(
        &format!("{case}-{tasks}-p50"),
        pairs.ratio(|round| round.quantile(0.5)),
    );
}

/// `ratio NAME MEDIAN LOW..HIGH`, for machines.
pub(crate) fn figure(name: &str, ratio: crate::measure::Ratio) {
    println!(
        "ratio {name} {:.3} {:.3}..{:.3}",
        ratio.median, ratio.low, ratio.high
    );
}

/// `value NAME NUMBER`, for machines.
pub(crate) fn value(name: &str, value: impl std::fmt::Display) {
    println!("value {name} {value}");
}

pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.3}ms", duration.as_secs_f64() * 1e3)
}
