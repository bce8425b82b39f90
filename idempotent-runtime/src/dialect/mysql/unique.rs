//! Which constraint was violated.
use std::error::Error as StdError;

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};

use super::super::Violated;
use crate::site::Unique;

pub(super) fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
    let error = database_error(link)?;
    if !matches!(error.number(), 1062 | 1586) {
        return None;
    }
    let (rest, _) = error.message().rsplit_once('\'')?;
    let (_, key) = rest.rsplit_once('\'')?;
    Some(Violated {
        name: Some(key.to_owned()),
        schema: None,
        table: None,
        columns: None,
    })
}

/// sqlx's error, in either shape: as itself, or (behind `#[error(transparent)]`) the database's own
/// alone.
fn database_error<'a>(link: &'a (dyn StdError + 'static)) -> Option<&'a MySqlDatabaseError> {
    if let Some(sqlx::Error::Database(error)) = link.downcast_ref::<sqlx::Error>() {
        return error.try_downcast_ref::<MySqlDatabaseError>();
    }
    link.downcast_ref::<MySqlDatabaseError>()
}

pub(super) async fn describe(
    _conn: &mut MySqlConnection,
    violated: Violated,
    _wanted: &Unique,
) -> sqlx::Result<Violated> {
    Ok(violated)
}
