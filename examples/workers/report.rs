//! The table, and what it comes to.

use comfy_table::LineStyle;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use crate::verdict::{Line, Verdict};

/// Faults that are spelled out.
const SPELLED_OUT: usize = 10;

pub fn table(verdict: &Verdict) -> Table {
    let lines = &verdict.lines;
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    let names = lines.iter().map(|line| line.plan.kind.name());
    table.set_header([""].into_iter().chain(names));
    let mut row = |title: &str, cell: &dyn Fn(&Line) -> Option<String>| {
        let cells = lines
            .iter()
            .map(|line| cell(line).unwrap_or_else(|| "-".to_owned()));
        table.add_row([title.to_owned()].into_iter().chain(cells));
    };
    let plain = |count: u64| Some(count.to_string());
    let effects = |line: &Line, count: u64| Some(marked(count, line.wanted));

    row("orders", &|line| plain(line.wanted));
    row("jobs pushed", &|line| plain(line.plan.pushed));
    row("  done", &|line| plain(line.settled.done));
    row("  given up (poison)", &|line| {
        Some(marked(line.settled.dead, line.plan.poison))
    });
    row("workers killed between effect and mark", &|line| {
        plain(line.counts.kills)
    });
    row("told: performed", &|line| plain(line.counts.performed));
    row("  replayed", &|line| plain(line.counts.replayed));
    row("  skipped", &|line| plain(line.counts.skipped));
    row("  failed, to be tried again", &|line| {
        plain(line.counts.again)
    });
    row("effects in the database", &|line| {
        effects(line, line.database)
    });
    row("requests at the gateway", &|line| {
        line.outside.map(|_| verdict.gateway_requests.to_string())
    });
    row("charges at the gateway", &|line| {
        effects(line, line.outside?)
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// What has to be as many as was wanted is marked if it is not.
fn marked(count: u64, wanted: u64) -> String {
    if count == wanted {
        count.to_string()
    } else {
        format!("✗ {count}")
    }
}

/// What a reader may ask on seeing the table.
pub const NOTES: &str = "\
Every job was pushed twice. Effects and charges are to be as many as the orders (✗: they are not).
A job whose worker was killed comes back when its heartbeats are missed; its worker told nothing.
Skipped: there is nothing to do (the order is gone, or was done by hand).
Poison: an amount that is none, a panic, and a second job for an order with another amount.";

/// What the run comes to: the last lines, and whether all is as it should be.
///
/// A naive run is right if it shows the damage.
pub fn conclude(verdict: &Verdict, naive: bool) -> (Vec<String>, bool) {
    let mut lines = Vec::new();
    let killed = verdict.killed();
    if !killed {
        lines.push("not every worker was killed that was to be, so nothing is shown".to_owned());
    }
    if verdict.fallen > 0 {
        lines.push(format!(
            "workers that ended by themselves, and were replaced: {}",
            verdict.fallen
        ));
    }
    if naive {
        let doubles = verdict.doubles;
        lines.push(format!(
            "naive: {doubles} jobs had their effect more than once"
        ));
        return (lines, killed && doubles > 0);
    }
    let faults = &verdict.faults;
    lines.extend(faults.iter().take(SPELLED_OUT).cloned());
    if faults.len() > SPELLED_OUT {
        lines.push(format!("… and {} more", faults.len() - SPELLED_OUT));
    }
    let all = if faults.is_empty() {
        "every"
    } else {
        "not every"
    };
    lines.push(format!("{all} effect is there exactly once"));
    (lines, killed && faults.is_empty())
}
