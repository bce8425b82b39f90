//! The whole business database at one instant.

use std::collections::BTreeMap;

use sqlx::Pool;

use super::database::{Column, LabDatabase};
use super::error::LabError;

/// The ledger's own tables.
const LEDGER: [&str; 3] = ["idempotent_keys", "idempotent_steps", "idempotent_meta"];

/// Every table except the ledger's, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Snapshot {
    pub(super) tables: BTreeMap<String, Table>,
}

/// A table's rows, sorted; each value as a literal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The columns that are not compared: `column`, or `table.column`.
#[derive(Debug, Clone, Default)]
pub(super) struct Ignored(Vec<String>);

impl Ignored {
    pub(super) fn add(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        self.0.extend(names.into_iter().map(Into::into));
    }

    fn has(&self, column: &Column) -> bool {
        self.0.iter().any(|name| names(name, column))
    }

    /// A name that no column has.
    fn unknown(&self, columns: &[Column]) -> Option<&String> {
        let known = |name: &str| columns.iter().any(|column| names(name, column));
        self.0.iter().find(|name| !known(name))
    }
}

/// Whether `column` or `table.column` is this one.
fn names(name: &str, column: &Column) -> bool {
    let table = name.strip_suffix(&column.name);
    match table.map(|table| table.strip_suffix('.').unwrap_or(table)) {
        Some("") => true,
        Some(table) => table == column.table,
        None => false,
    }
}

impl Snapshot {
    /// Reads all tables, without the columns that are ignored.
    pub(super) async fn take<DB: LabDatabase>(
        pool: &Pool<DB>,
        ignored: &Ignored,
    ) -> Result<Self, LabError> {
        const DOING: &str = "reading the business tables";

        let columns = DB::columns(pool)
            .await
            .map_err(LabError::database("reading the catalogue"))?;
        if let Some(name) = ignored.unknown(&columns) {
            return Err(LabError::NoSuchColumn(name.clone()));
        }
        let mut tables: BTreeMap<String, Read> = BTreeMap::new();
        for column in columns {
            if LEDGER.contains(&&*column.table) {
                continue;
            }
            let compared = !column.numbered && !ignored.has(&column);
            let read = tables.entry(column.table).or_default();
            read.from = column.from;
            if compared {
                read.table.columns.push(column.name);
                read.literals.push(column.literal);
            }
        }
        let mut snapshot = Self::default();
        for (name, mut read) in tables {
            read.table.rows = DB::fetch(pool, read.sql())
                .await
                .map_err(LabError::database(DOING))?;
            read.table.rows.sort();
            snapshot.tables.insert(name, read.table);
        }
        Ok(snapshot)
    }
}

/// A table on the way into a snapshot.
#[derive(Default)]
struct Read {
    from: String,
    literals: Vec<String>,
    table: Table,
}

impl Read {
    /// The query for its rows. Without a column it still tells how many there are.
    fn sql(&self) -> String {
        let literals = match &*self.literals {
            [] => "''".to_owned(),
            literals => literals.join(", "),
        };
        format!("SELECT {literals} FROM {}", self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_ignored_by_its_name_in_every_table_or_in_one() {
        let column = |table: &str, name: &str| Column {
            table: table.to_owned(),
            name: name.to_owned(),
            from: String::new(),
            literal: String::new(),
            numbered: false,
        };
        let columns = [column("orders", "paid_at"), column("users", "paid_at")];
        let mut ignored = Ignored::default();
        ignored.add(["orders.paid_at"]);
        assert!(ignored.has(&columns[0]) && !ignored.has(&columns[1]));
        assert!(!ignored.has(&column("orders", "unpaid_at")));
        ignored.add(["paid_at"]);
        assert!(ignored.has(&columns[1]));
        assert_eq!(ignored.unknown(&columns), None);
        ignored.add(["repaid_at"]);
        assert_eq!(ignored.unknown(&columns).unwrap(), "repaid_at");
    }
}
