//! Tables of the repository's pages.

use std::path::Path;

/// The rows of all tables of a page that have this many columns, without their heads.
///
/// # Panics
///
/// Where there is no such page.
#[must_use]
pub fn rows(page: &str, columns: usize) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut in_table = false;
    for line in text.lines().map(str::trim) {
        let Some(inner) = line.strip_prefix('|').and_then(|l| l.strip_suffix('|')) else {
            in_table = false;
            continue;
        };
        let cells: Vec<String> = inner
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect();
        match in_table {
            // The row before was the head of a table.
            true if cells
                .iter()
                .all(|cell| cell.trim_matches([':', '-']).is_empty()) =>
            {
                rows.pop();
            }
            _ => {
                in_table = true;
                rows.push(cells);
            }
        }
    }
    rows.retain(|row| row.len() == columns);
    rows
}

/// What stands between backticks in a cell.
#[must_use]
pub fn names(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}
