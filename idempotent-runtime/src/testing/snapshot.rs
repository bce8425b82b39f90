//! The whole business database at one instant.

use std::collections::BTreeMap;

use sqlx::Pool;

use super::database::LabDatabase;
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

    fn has(&self, table: &str, column: &str) -> bool {
        self.0.iter().any(|name| match name.split_once('.') {
            Some((of, name)) => of == table && name == column,
            None => name == column,
        })
    }

    /// A name that no column has.
    fn unknown(&self, columns: &[(String, String)]) -> Option<&String> {
        self.0.iter().find(|name| {
            let known = columns
                .iter()
                .any(|(table, column)| **name == *column || **name == format!("{table}.{column}"));
            !known
        })
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
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        for (table, column) in columns {
            if LEDGER.contains(&&*table) {
                continue;
            }
            let skip = ignored.has(&table, &column);
            let columns = &mut tables.entry(table).or_default().columns;
            if !skip {
                columns.push(column);
            }
        }
        for (name, table) in &mut tables {
            table.rows = DB::fetch(pool, DB::rows_of(name, &table.columns))
                .await
                .map_err(LabError::database(DOING))?;
            table.rows.sort();
        }
        Ok(Self { tables })
    }
}
