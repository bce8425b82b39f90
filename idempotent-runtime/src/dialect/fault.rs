//! What errors of the database mean to the protocol.

use std::error::Error as StdError;

use sqlx::error::DatabaseError;

/// What an error of the database means to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Somebody else holds a lock that was waited for.
    Locked,
    /// The transaction was chosen to give way (a deadlock, a serialization failure); it is undone.
    GaveWay,
    /// The transaction cannot decide (its snapshot is too old, or the database had it give way), and
    /// is still open: it has to begin again.
    StaleSnapshot,
    /// The ledger's tables are missing.
    NoSchema,
    /// The connection, the pool or the server failed; a later call may succeed.
    Passing,
    /// Anything else: calling again does not help.
    Lasting,
}

/// A unique constraint that was violated, as far as the database names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violated {
    /// The constraint's name, where the database reports it.
    pub(crate) name: Option<String>,
    /// The schema that it is in, where the database reports one.
    pub(crate) schema: Option<String>,
    /// Its table, where the database reports it.
    pub(crate) table: Option<String>,
    /// Its columns, where the database reports them.
    pub(crate) columns: Option<Vec<String>>,
    /// The values that are there already, as a message shows them; never shown again.
    pub(crate) values: Option<String>,
}

impl Violated {
    /// Whether it is over these columns of this table, in any order: the attribute says which, not
    /// how the index is laid out.
    pub(crate) fn covers<C: AsRef<str>>(&self, table: &str, columns: &[C]) -> bool {
        self.table
            .as_deref()
            .is_some_and(|own| own.eq_ignore_ascii_case(table))
            && self.columns.as_ref().is_some_and(|own| {
                own.len() == columns.len()
                    && columns.iter().all(|column| {
                        own.iter()
                            .any(|own| own.eq_ignore_ascii_case(column.as_ref()))
                    })
            })
    }
}

impl std::fmt::Display for Violated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.name, &self.table, &self.columns) {
            (Some(name), ..) => f.write_str(name),
            (None, Some(table), Some(columns)) => write!(f, "{table}({})", columns.join(", ")),
            _ => f.write_str("unique"),
        }
    }
}

/// The database's own error in one link of an error's chain, in whichever shape it stands there:
/// sqlx's error, or, behind `#[error(transparent)]`, only what that has for its source, which is the
/// box with the database's error, and not that error itself.
pub(crate) fn database_error<'a, E: DatabaseError>(
    link: &'a (dyn StdError + 'static),
) -> Option<&'a E> {
    if let Some(sqlx::Error::Database(error)) = link.downcast_ref::<sqlx::Error>() {
        return error.try_downcast_ref();
    }
    if let Some(error) = link.downcast_ref::<Box<dyn DatabaseError>>() {
        return error.try_downcast_ref();
    }
    link.downcast_ref()
}

/// What every database's own classification starts from.
pub(crate) fn common_fault(error: &sqlx::Error) -> Fault {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed => {
            Fault::Passing
        }
        _ => Fault::Lasting,
    }
}
