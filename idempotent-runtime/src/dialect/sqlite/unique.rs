//! Which constraint was violated.

use std::error::Error as StdError;

use sqlx::error::DatabaseError as _;
use sqlx::sqlite::{SqliteConnection, SqliteError};

use crate::dialect::{Violated, database_error};
use crate::site::Unique;

pub(super) async fn describe(
    conn: &mut SqliteConnection,
    violated: Violated,
    wanted: &Unique,
) -> sqlx::Result<Violated> {
    // SQLite reports the columns. A name is that of a unique index over the same ones.
    let (Unique::Named(name), Some(table)) = (wanted, &violated.table) else {
        return Ok(violated);
    };
    let columns: Vec<Option<String>> = sqlx::query_scalar(
        "SELECT info.name FROM sqlite_schema AS index_, pragma_index_info(index_.name) AS info \
         WHERE index_.type = 'index' AND index_.name = ? COLLATE NOCASE \
         AND index_.tbl_name = ? COLLATE NOCASE",
    )
    .bind(*name)
    .bind(table)
    .fetch_all(conn)
    .await?;
    let columns: Option<Vec<String>> = columns.into_iter().collect();
    let is_it = columns.is_some_and(|columns| violated.covers(table, &columns));
    Ok(Violated {
        name: is_it.then(|| (*name).to_owned()),
        ..violated
    })
}

pub(super) fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
    let error = database_error::<SqliteError>(link)?;
    if !error.is_unique_violation() {
        return None;
    }
    // "UNIQUE constraint failed: t.a, t.b", or "index 'name'" for one over expressions.
    let list = error.message().strip_prefix("UNIQUE constraint failed: ")?;
    if let Some(name) = list.strip_prefix("index '") {
        return Some(Violated {
            name: Some(name.trim_end_matches('\'').to_owned()),
            schema: None,
            table: None,
            columns: None,
            values: None,
        });
    }
    let pairs: Vec<(&str, &str)> = list
        .split(", ")
        .map(|pair| pair.rsplit_once('.'))
        .collect::<Option<_>>()?;
    Some(Violated {
        name: None,
        schema: None,
        table: pairs.first().map(|(table, _)| (*table).to_owned()),
        columns: Some(
            pairs
                .iter()
                .map(|(_, column)| (*column).to_owned())
                .collect(),
        ),
        values: None,
    })
}
