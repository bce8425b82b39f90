//! Unique constraints by name and by columns: PostgreSQL reports the name.

use std::error::Error as StdError;

use sqlx::Row;
use sqlx::postgres::PgDatabaseError;

use super::On;
use crate::dialect::{Violated, database_error};
use crate::site::Unique;

pub(super) fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
    let error = database_error::<PgDatabaseError>(link)?;
    (error.code() == "23505").then(|| Violated {
        name: error.constraint().map(str::to_owned),
        schema: error.schema().map(str::to_owned),
        table: error.table().map(str::to_owned),
        columns: None,
        values: None,
    })
}

/// Looks up the table and the columns of a violated index; and those of the partitioned tables
/// above, for an insert into one reports the partition's own index and table.
pub(super) async fn describe(
    on: On<'_>,
    violated: Violated,
    wanted: &Unique,
) -> sqlx::Result<Violated> {
    if wanted.is(&violated) {
        return Ok(violated);
    }
    let rows = on.query(
        "WITH RECURSIVE up AS ( \
           SELECT i.oid AS index_, 0 AS level FROM pg_class i \
             JOIN pg_namespace n ON n.oid = i.relnamespace \
             WHERE i.relkind IN ('i', 'I') AND i.relname = $1 AND n.nspname = $2 \
           UNION ALL \
           SELECT h.inhparent, level + 1 FROM up JOIN pg_inherits h ON h.inhrelid = index_) \
         SELECT i.relname::text AS name, n.nspname::text AS schema, t.relname::text AS table, \
           ARRAY(SELECT a.attname::text FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k (number, \
               place) LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number \
             WHERE k.place <= x.indnkeyatts ORDER BY k.place) AS columns \
         FROM up JOIN pg_class i ON i.oid = index_ \
           JOIN pg_index x ON x.indexrelid = index_ JOIN pg_class t ON t.oid = x.indrelid \
           JOIN pg_namespace n ON n.oid = t.relnamespace \
         ORDER BY level",
    )
    .bind(&violated.name)
    .bind(&violated.schema)
    .fetch_all(on.conn)
    .await?;
    let mut first = None;
    for row in rows {
        // An expression has no column, and is known by its index's name only.
        let columns: Vec<Option<String>> = row.try_get("columns")?;
        let known = Violated {
            name: row.try_get("name")?,
            schema: row.try_get("schema")?,
            table: row.try_get("table")?,
            columns: columns.into_iter().collect(),
            values: None,
        };
        if wanted.is(&known) {
            return Ok(known);
        }
        first.get_or_insert(known);
    }
    Ok(first.unwrap_or(violated))
}
