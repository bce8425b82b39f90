//! What errors mean.

use sqlx::error::DatabaseError;

use crate::dialect::{Fault, common_fault};

pub(super) fn fault(error: &sqlx::Error) -> Fault {
    let sqlx::Error::Database(database) = error else {
        return common_fault(error);
    };
    let code = code(&**database);
    match (code, code & 0xff) {
        (517, _) => Fault::StaleSnapshot,
        // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL (a race at opening).
        (_, 5 | 6 | 15) => Fault::Locked,
        (1, _) if database.message().starts_with("no such table: idempotent_") => Fault::NoSchema,
        _ => Fault::Lasting,
    }
}

/// An error's number, with what is special about it; 0 where there is none.
fn code(error: &dyn DatabaseError) -> i32 {
    let code = error.code().and_then(|code| code.parse().ok());
    code.unwrap_or(0)
}

/// The same, without.
pub(super) fn primary_code(error: &dyn DatabaseError) -> i32 {
    code(error) & 0xff
}
