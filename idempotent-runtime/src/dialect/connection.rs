//! Connections to the databases.

use std::fmt::Debug;

use sqlx::Connection;

use super::{Backend, sealed};
use crate::store::Store;

/// A connection to a [`Backend`]: what the first parameter of a transactional job points to.
#[diagnostic::on_unimplemented(
    message = "a transactional job cannot work on `{Self}`",
    label = "expected a connection",
    note = "the first parameter of a transactional job is `&mut SqliteConnection`, `&mut PgConnection` or `&mut MySqlConnection`; that of a leased job is `&mut Job<'_, DB>`"
)]
pub trait LedgerConnection:
    Connection + Debug + ConnectionTo<<Self as LedgerConnection>::Backend> + sealed::Sealed + 'static
{
    /// The database.
    type Backend: Backend<Connection = Self>;
}

#[doc(hidden)]
/// That a connection is one to this database. A trait of its own, because two types that should be
/// one are reported as that, and not in the words of [`Within`](crate::Within).
pub trait ConnectionTo<DB: Backend>: Sized {
    /// The same store.
    fn store(store: Store<DB>) -> Store<Self::Backend>
    where
        Self: LedgerConnection;

    /// The same connection.
    fn conn(conn: &mut DB::Connection) -> &mut Self;
}

macro_rules! connections {
    ($($feature:literal: $connection:ty, $database:ty;)*) => {$(
        #[cfg(feature = $feature)]
        impl ConnectionTo<$database> for $connection {
            fn store(store: Store<$database>) -> Store<$database> {
                store
            }

            fn conn(conn: &mut $connection) -> &mut $connection {
                conn
            }
        }
    )*};
}

connections! {
    "sqlite": sqlx::SqliteConnection, sqlx::Sqlite;
    "postgres": sqlx::PgConnection, sqlx::Postgres;
    "mysql": sqlx::MySqlConnection, sqlx::MySql;
}
