//! The plots of the docs.

use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;

use crate::measure::{Pairs, median};

/// Jobs a second against tasks, of one case.
pub(crate) struct Curve {
    name: &'static str,
    hand: Vec<(f64, f64)>,
    ours: Vec<(f64, f64)>,
}

impl Curve {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            hand: Vec::new(),
            ours: Vec::new(),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of jobs and tasks")]
    pub(crate) fn push(&mut self, tasks: usize, jobs: usize, pairs: &Pairs) {
        let rate = |rounds: &[crate::measure::Round]| {
            let wall = median(rounds.iter().map(|round| round.wall).collect());
            jobs as f64 / wall.as_secs_f64()
        };
        self.hand.push((tasks as f64, rate(&pairs.hand)));
        self.ours.push((tasks as f64, rate(&pairs.ours)));
    }
}

/// The cost of a job at a size of the ledger.
pub(crate) struct Size {
    pub(crate) keys: u64,
    pub(crate) fresh: Duration,
    pub(crate) replay: Duration,
}

type Drawn = anyhow::Result<()>;

/// Throughput against tasks: dashed by hand, solid with the attribute.
pub(crate) fn throughput(path: &Path, database: &str, curves: &[Curve]) -> Drawn {
    let area = SVGBackend::new(path, (760, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let points = || {
        curves
            .iter()
            .flat_map(|curve| curve.hand.iter().chain(&curve.ours))
    };
    let most = points().map(|(_, rate)| *rate).fold(1.0, f64::max) * 1.1;
    let tasks = points().map(|(tasks, _)| *tasks).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption(
            format!("{database}: jobs a second (thin: by hand)"),
            ("sans-serif", 18),
        )
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((1.0..tasks).log_scale(), (500.0..most).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("tasks")
        .y_desc("jobs/s")
        .draw()?;
    for (number, curve) in curves.iter().enumerate() {
        let color = Palette99::pick(number).to_rgba();
        chart
            .draw_series(LineSeries::new(
                curve.ours.iter().copied(),
                color.stroke_width(3),
            ))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3)));
        chart.draw_series(LineSeries::new(
            curve.hand.iter().copied(),
            color.stroke_width(1),
        ))?;
    }
    chart
        .configure_series_labels()
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    area.present()?;
    Ok(())
}

/// The cost of a job against the size of the ledger.
#[allow(clippy::cast_precision_loss, reason = "counts of keys")]
pub(crate) fn growth(path: &Path, database: &str, sizes: &[Size]) -> Drawn {
    let area = SVGBackend::new(path, (760, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
    let most = sizes
        .iter()
        .map(|size| millis(size.fresh.max(size.replay)))
        .fold(0.0, f64::max);
    let keys = || sizes.iter().map(|size| size.keys as f64);
    let range = keys().fold(f64::MAX, f64::min)..keys().fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption(
            format!("{database}: time of a job as the ledger grows"),
            ("sans-serif", 18),
        )
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(range.log_scale(), 0.0..most * 1.2)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("keys in the ledger")
        .y_desc("ms a job, 8 tasks")
        .draw()?;
    for (number, (name, of)) in [
        ("fresh", (|size| size.fresh) as fn(&Size) -> Duration),
        ("replay", |size| size.replay),
    ]
    .into_iter()
    .enumerate()
    {
        let color = Palette99::pick(number).to_rgba();
        let points = sizes
            .iter()
            .map(|size| (size.keys as f64, millis(of(size))));
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(3)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    area.present()?;
    Ok(())
}
