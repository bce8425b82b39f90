//! Which constraint was violated.
//!
//! Both servers report the index in the message: MySQL as `'table.index'`, MariaDB as `'index'`
//! alone. Names of indexes are the table's own here (a `UNIQUE (email)` without a name is called
//! `email` in every table, and every primary key `PRIMARY`), so that on MariaDB the name may leave
//! several tables. Then the duplicate values, which the message has too, are looked up in each of
//! them. What is still not certain is not taken for "already done": the job gets its own error.

use std::collections::BTreeMap;
use std::error::Error as StdError;

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};
use sqlx::{AssertSqlSafe, Row, SqlSafeStr};

use super::super::{Violated, database_error};
use crate::observe;
use crate::site::Unique;

/// In how many ways the values of a message are read, at most.
const READINGS: usize = 32;

pub(super) fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
    let error = database_error::<MySqlDatabaseError>(link)?;
    if !matches!(error.number(), 1062 | 1586) {
        return None;
    }
    let (values, key) = parse(error.message())?;
    Some(Violated {
        name: Some(key.to_owned()),
        schema: None,
        table: None,
        columns: None,
        values: Some(values.to_owned()),
    })
}

/// The values and the key of `Duplicate entry 'values' for key 'key'`, in whatever language: the key
/// is what is quoted last.
fn parse(message: &str) -> Option<(&str, &str)> {
    let (rest, _) = message.rsplit_once('\'')?;
    let (rest, key) = rest.rsplit_once('\'')?;
    let (rest, _) = rest.rsplit_once('\'')?;
    let (_, values) = rest.split_once('\'')?;
    Some((values, key))
}

/// A unique index of a table.
#[derive(Debug)]
struct Index {
    table: String,
    /// Its columns in order; `None` for an expression.
    columns: Vec<Option<String>>,
}

pub(super) async fn describe(
    conn: &mut MySqlConnection,
    violated: Violated,
    wanted: &Unique,
) -> sqlx::Result<Violated> {
    let reported = violated.name.as_deref().unwrap_or_default();
    let (said, key) = split(reported);
    let wanted_table = match wanted {
        Unique::Columns(table, _) => Some(*table),
        Unique::Named(named) => split(named).0,
    };
    let unknown = Violated {
        name: None,
        ..violated.clone()
    };
    if let Unique::Named(named) = wanted
        && !split(named).1.eq_ignore_ascii_case(key)
    {
        return Ok(unknown);
    }
    let found = indexes(conn, key).await?;
    let values = violated.values.as_deref().unwrap_or_default();
    let Some(index) = the_one(conn, key, &found, said, wanted_table, values).await? else {
        return Ok(unknown);
    };
    Ok(Violated {
        // An index by itself is called by its table and columns: its name says less.
        name: match wanted {
            Unique::Named(named) => Some((*named).to_owned()),
            Unique::Columns(..) => None,
        },
        table: Some(index.table.clone()),
        columns: index.columns.iter().cloned().collect(),
        ..violated
    })
}

/// `table.index`, or an index of a table that is not said.
fn split(name: &str) -> (Option<&str>, &str) {
    name.split_once('.')
        .map_or((None, name), |(table, index)| (Some(table), index))
}

/// The unique indexes of a name.
async fn indexes(conn: &mut MySqlConnection, name: &str) -> sqlx::Result<Vec<Index>> {
    let rows = sqlx::query(
        "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR) FROM information_schema.statistics \
         WHERE table_schema = DATABASE() AND non_unique = 0 AND index_name = ? \
         AND table_name NOT IN ('idempotent_keys', 'idempotent_steps', 'idempotent_meta') \
         ORDER BY table_name, seq_in_index",
    )
    .bind(name)
    .fetch_all(conn)
    .await?;
    let mut indexes = BTreeMap::<String, Vec<Option<String>>>::new();
    for row in rows {
        indexes
            .entry(row.try_get(0)?)
            .or_default()
            .push(row.try_get(1)?);
    }
    Ok(indexes
        .into_iter()
        .map(|(table, columns)| Index { table, columns })
        .collect())
}

/// The index that was violated, where it is the one that the attribute means: `said` is the table
/// that the server named, `wanted` the one that the attribute did.
async fn the_one<'i>(
    conn: &mut MySqlConnection,
    key: &str,
    found: &'i [Index],
    said: Option<&str>,
    wanted: Option<&str>,
    values: &str,
) -> sqlx::Result<Option<&'i Index>> {
    let Some(wanted) = wanted else {
        // By its name alone an index can only be meant where no other table has one of that name.
        if let [index] = found {
            return Ok(Some(index));
        }
        observe::ambiguous(key);
        return Ok(None);
    };
    let is_wanted = |table: &str| table.eq_ignore_ascii_case(wanted);
    let Some(index) = found.iter().find(|index| is_wanted(&index.table)) else {
        return Ok(None);
    };
    if let Some(said) = said {
        return Ok(is_wanted(said).then_some(index));
    }
    if found.len() == 1 {
        return Ok(Some(index));
    }
    if !has(conn, index, values).await? {
        return Ok(None);
    }
    for other in found.iter().filter(|other| !is_wanted(&other.table)) {
        if has(conn, other, values).await? {
            observe::ambiguous(key);
            return Ok(None);
        }
    }
    Ok(Some(index))
}

/// Whether a table has a row with the values of a message, `one-two` for two columns. They are read
/// past the transaction's snapshot: the violation was, too.
async fn has(conn: &mut MySqlConnection, index: &Index, values: &str) -> sqlx::Result<bool> {
    let Some(columns) = index.columns.iter().cloned().collect::<Option<Vec<_>>>() else {
        return Ok(false);
    };
    let readings = readings(values, columns.len());
    // Each column both as itself, for the index, and as text, for `'abc' = 0` holds here.
    let condition = columns
        .iter()
        .map(|column| {
            let column = quoted(column);
            format!("{column} = ? AND CAST({column} AS CHAR) = ?")
        })
        .collect::<Vec<_>>()
        .join(" AND ");
    let table = quoted(&index.table);
    let sql = format!("SELECT 1 FROM {table} WHERE {condition} LIMIT 1 LOCK IN SHARE MODE");
    let sql = AssertSqlSafe(format!(
        "/*M!100300 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */ {sql}"
    ))
    .into_sql_str();
    for reading in readings {
        let mut query = sqlx::query(sql.clone());
        for value in reading {
            query = query.bind(value.to_owned()).bind(value.to_owned());
        }
        if query
            .persistent(false)
            .fetch_optional(&mut *conn)
            .await?
            .is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The ways to read `values` as so many values with `-` between them; none where there are too many.
fn readings(values: &str, columns: usize) -> Vec<Vec<&str>> {
    fn read<'v>(
        rest: &'v str,
        columns: usize,
        so_far: &mut Vec<&'v str>,
        out: &mut Vec<Vec<&'v str>>,
    ) {
        if out.len() > READINGS {
            return;
        }
        if columns == 1 {
            let mut reading = so_far.clone();
            reading.push(rest);
            out.push(reading);
            return;
        }
        for (at, _) in rest.match_indices('-') {
            so_far.push(&rest[..at]);
            read(&rest[at + 1..], columns - 1, so_far, out);
            so_far.pop();
        }
    }

    let mut out = Vec::new();
    if columns > 0 {
        read(values, columns, &mut Vec::new(), &mut out);
    }
    if out.len() > READINGS {
        out.clear();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_quoted_last_whatever_the_values_and_the_language() {
        for (message, values, key) in [
            (
                "Duplicate entry '5-2024-01' for key 'order_id'",
                "5-2024-01",
                "order_id",
            ),
            (
                "Duplicate entry 'a' for key 't.order_id'",
                "a",
                "t.order_id",
            ),
            ("Duplicate entry 'it's' for key 'k'", "it's", "k"),
            ("Duplicate entry '' for key 'k'", "", "k"),
            (
                "Doppelter Eintrag 'x' für Schlüssel 'PRIMARY'",
                "x",
                "PRIMARY",
            ),
        ] {
            assert_eq!(parse(message), Some((values, key)), "{message}");
        }
        assert_eq!(parse("Duplicate entry"), None);
    }

    #[test]
    fn values_are_read_in_every_way() {
        assert_eq!(readings("a-b", 1), [["a-b"]]);
        assert_eq!(
            readings("5-2024-01", 2),
            [["5", "2024-01"], ["5-2024", "01"]]
        );
        assert_eq!(readings("-1-2", 2), [["", "1-2"], ["-1", "2"]]);
        assert!(readings("a", 2).is_empty());
        assert!(readings(&"-".repeat(100), 3).is_empty());
    }
}
