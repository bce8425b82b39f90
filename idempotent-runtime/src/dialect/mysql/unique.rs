//! Which constraint was violated.
use std::error::Error as StdError;

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};

use super::super::{Violated, database_error};
use crate::site::Unique;

pub(super) fn violated(link: &(dyn StdError + 'static)) -> Option<Violated> {
    let error = database_error::<MySqlDatabaseError>(link)?;
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

pub(super) async fn describe(
    _conn: &mut MySqlConnection,
    violated: Violated,
    _wanted: &Unique,
) -> sqlx::Result<Violated> {
    Ok(violated)
}
