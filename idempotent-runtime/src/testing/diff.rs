//! What is different from what one run leaves, for a person to read.

use std::fmt;

use super::seen::Seen;
use super::snapshot::{Snapshot, Table};

/// The rows of one table that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableDiff {
    name: String,
    columns: Vec<String>,
    /// Rows of one run that are not here.
    missing: Vec<Vec<String>>,
    /// Rows that one run does not leave.
    extra: Vec<Vec<String>>,
    /// Rows that are here with other values: as one run leaves them, and as they are.
    changed: Vec<(Vec<String>, Vec<String>)>,
}

/// The tables that differ.
pub(super) fn tables(once: &Snapshot, here: &Snapshot) -> Vec<TableDiff> {
    let names = once.tables.keys().chain(here.tables.keys());
    let mut names: Vec<&String> = names.collect();
    names.sort();
    names.dedup();
    let none = Table::default();
    names
        .into_iter()
        .filter_map(|name| {
            let once = once.tables.get(name).unwrap_or(&none);
            let here = here.tables.get(name).unwrap_or(&none);
            table(name, once, here)
        })
        .collect()
}

fn table(name: &str, once: &Table, here: &Table) -> Option<TableDiff> {
    let mut missing = without(&once.rows, &here.rows);
    let mut extra = without(&here.rows, &once.rows);
    if missing.is_empty() && extra.is_empty() {
        return None;
    }
    // A row with most of its values in place has changed; the rest came or went.
    let mut changed = Vec::new();
    extra.retain(|row| {
        let at = missing.iter().position(|old| is_the_same_row(old, row));
        at.map(|at| changed.push((missing.remove(at), row.clone())))
            .is_none()
    });
    let columns = if here.columns.is_empty() {
        &once.columns
    } else {
        &here.columns
    };
    Some(TableDiff {
        name: name.to_owned(),
        columns: columns.clone(),
        missing,
        extra,
        changed,
    })
}

/// The rows of one list that the other does not have, as often as it does not.
fn without(rows: &[Vec<String>], others: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut others = others.to_vec();
    let mut left = rows.to_vec();
    left.retain(|row| match others.iter().position(|other| other == row) {
        Some(at) => {
            others.swap_remove(at);
            false
        }
        None => true,
    });
    left
}

fn is_the_same_row(one: &[String], other: &[String]) -> bool {
    let same = one.iter().zip(other).filter(|(one, other)| one == other);
    one.len() == other.len() && 2 * same.count() >= one.len()
}

impl TableDiff {
    /// Whether there are rows that one run does not leave.
    pub(super) fn has_extra(&self) -> bool {
        !self.extra.is_empty()
    }

    /// The columns whose values differ in rows that are otherwise there.
    pub(super) fn changed_columns(&self) -> Vec<String> {
        let differ = |at: usize| self.changed.iter().any(|(once, here)| once[at] != here[at]);
        (0..self.columns.len())
            .filter(|at| differ(*at))
            .map(|at| format!("{}.{}", self.name, self.columns[at]))
            .collect()
    }

    fn row(&self, row: &[String]) -> String {
        let pairs = self.columns.iter().zip(row);
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        pairs.join(", ")
    }

    fn change(&self, once: &[String], here: &[String]) -> String {
        let values = self.columns.iter().zip(once.iter().zip(here));
        let values: Vec<String> = values
            .map(|(name, (once, here))| match once == here {
                true => format!("{name}: {here}"),
                false => format!("{name}: {here} (after one run: {once})"),
            })
            .collect();
        values.join(", ")
    }
}

impl fmt::Display for TableDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.missing.len(), "missing"),
            (self.extra.len(), "too many"),
            (self.changed.len(), "with other values"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, what)| match count {
                1 => format!("1 row {what}"),
                _ => format!("{count} rows {what}"),
            })
            .collect();
        write!(f, "table `{}`: {}", self.name, counts.join(", "))?;
        for row in &self.missing {
            write!(f, "\n  - {}", self.row(row))?;
        }
        for row in &self.extra {
            write!(f, "\n  + {}", self.row(row))?;
        }
        for (once, here) in &self.changed {
            write!(f, "\n  ~ {}", self.change(once, here))?;
        }
        Ok(())
    }
}

/// What is seen of the outside at two looks, where it differs.
pub(super) fn outside_twice(first: &dyn Seen, second: &dyn Seen) -> Option<String> {
    (!first.same(second))
        .then(|| format!("  first:  {}\n  second: {}", short(first), short(second)))
}

/// What is seen of the outside, where it differs.
pub(super) fn outside(once: &dyn Seen, here: &dyn Seen) -> Option<String> {
    (!once.same(here)).then(|| {
        format!(
            "outside, as observed:\n  after one run: {}\n  here:          {}",
            short(once),
            short(here)
        )
    })
}

/// On one line where it fits.
fn short(value: &dyn Seen) -> String {
    let line = format!("{value:?}");
    match line.len() {
        0..=160 => line,
        _ => format!("{value:#?}").replace('\n', "\n    "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(rows: &[&[&str]]) -> Snapshot {
        let table = Table {
            columns: vec!["id".into(), "order_id".into(), "total".into()],
            rows: rows
                .iter()
                .map(|row| row.iter().map(|value| (*value).to_owned()).collect())
                .collect(),
        };
        Snapshot {
            tables: [("invoices".to_owned(), table)].into(),
        }
    }

    fn said(once: &[&[&str]], here: &[&[&str]]) -> Vec<String> {
        let diff = tables(&snapshot(once), &snapshot(here));
        diff.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_rows_are_told_apart_by_their_number() {
        let row: &[&str] = &["1", "42", "'x'"];
        assert!(said(&[row], &[row]).is_empty());
        assert_eq!(
            said(&[row], &[row, row]),
            ["table `invoices`: 1 row too many\n  + id: 1, order_id: 42, total: 'x'"]
        );
        assert_eq!(
            said(&[row, row], &[]),
            [
                "table `invoices`: 2 rows missing\n  - id: 1, order_id: 42, total: 'x'\n  - id: 1, \
                 order_id: 42, total: 'x'"
            ]
        );
    }

    #[test]
    fn a_row_with_another_value_shows_both() {
        let diff = tables(
            &snapshot(&[&["1", "42", "'x'"]]),
            &snapshot(&[&["1", "42", "'y'"]]),
        );
        assert_eq!(
            diff[0].to_string(),
            "table `invoices`: 1 row with other values\n  ~ id: 1, order_id: 42, total: 'y' (after one \
             run: 'x')"
        );
        assert_eq!(diff[0].changed_columns(), ["invoices.total"]);
    }

    #[test]
    fn what_is_seen_outside_is_shown_side_by_side() {
        assert_eq!(outside(&1, &1), None);
        let said = outside(&vec!["a"], &vec!["a", "a"]).unwrap();
        assert!(said.contains("after one run: [\"a\"]\n  here:          [\"a\", \"a\"]"));
    }
}
