//! The table, and what it comes to.

use comfy_table::LineStyle;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use crate::task::{Job, Way};
use crate::verdict::{Line, Verdict};

/// Faults that are spelled out.
const SPELLED_OUT: usize = 10;

/// Jobs side by side; down the page, what was asked for, what the callers were
/// told, and what the three witnesses saw.
pub fn table(verdict: &Verdict) -> Table {
    let lines = &verdict.lines;
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header(
        [""].into_iter()
            .chain(lines.iter().map(|line| line.job.name())),
    );
    let mut row = |title: &str, cell: &dyn Fn(&Line) -> Option<String>| {
        let cells = lines
            .iter()
            .map(|line| cell(line).unwrap_or_else(|| "-".to_owned()));
        table.add_row([title.to_owned()].into_iter().chain(cells));
    };
    let plain = |count: u64| Some(count.to_string());
    let only = |line: &Line, job: Job, count: u64| (line.job == job).then(|| count.to_string());
    let effects = |line: &Line, count: u64| Some(marked(count, line.wanted));

    row("jobs to do", &|line| plain(line.wanted));
    row("calls", &|line| plain(line.counts.calls));
    row("  performed", &|line| plain(line.counts.performed));
    row("  replayed", &|line| plain(line.counts.replayed));
    row("  skipped", &|line| plain(line.counts.skipped));
    row("  kills", &|line| plain(line.counts.kills));
    row("    between effect and mark", &|line| {
        plain(line.counts.kills_in_between)
    });
    row("  turned away, tried again", &|line| {
        plain(line.counts.again)
    });
    row("effects in the database", &|line| {
        effects(line, line.database)
    });
    row("requests at the gateway", &|line| {
        only(line, Job::ChargePayment, verdict.gateway_requests)
    });
    row("charges at the gateway", &|line| {
        let charges = line.outside.filter(|_| line.job == Job::ChargePayment)?;
        effects(line, charges)
    });
    row("deliveries at the mail sink", &|line| {
        only(line, Job::SendWelcomeEmail, verdict.mail_deliveries)
    });
    row("distinct Message-IDs there", &|line| {
        let ids = line.outside.filter(|_| line.job == Job::SendWelcomeEmail)?;
        effects(line, ids)
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// What has to be as many as there were jobs to do is marked if it is not.
fn marked(count: u64, wanted: u64) -> String {
    if count == wanted {
        count.to_string()
    } else {
        format!("✗ {count}")
    }
}

/// What a reader may ask on seeing the table.
pub const NOTES: &str = "\
Effects, charges and distinct Message-IDs are to be as many as the jobs to do (✗: they are not).
A job whose worker was killed after its commit is done, with nobody told: its retry is replayed.
Skipped: there was nothing to do (the user is gone, the order was paid in cash, …).
SMTP has no idempotency key: a mail whose worker was killed before it could note that it was sent
is sent again, under the same Message-ID. Deliveries may be more; one Message-ID a user is the promise.";

/// What the run comes to: the last lines, and whether all is as it should be.
///
/// A naive run is right if it shows the damage.
pub fn conclude(verdict: &Verdict, naive: bool) -> (Vec<String>, bool) {
    let mut lines: Vec<String> = verdict
        .unharmed()
        .map(|job| {
            format!(
                "{}: no worker was killed after the effect, so nothing is shown",
                job.name()
            )
        })
        .collect();
    let killed = lines.is_empty();
    if naive {
        let doubles = Way::ALL.map(|way| (way, verdict.doubles(way)));
        let sum: usize = doubles.iter().map(|(_, count)| count).sum();
        let ways = doubles.map(|(way, count)| format!("{count} {}", way.name()));
        let ways = ways.join(", ");
        lines.push(format!(
            "naive: {sum} jobs had their effect more than once ({ways})"
        ));
        return (lines, killed && sum > 0);
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
