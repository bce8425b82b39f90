//! How statements are sent.

use super::On;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::{Query, QueryScalar};
use sqlx::{Decode, FromRow, Postgres, SqlSafeStr, Type};

/// Behind a pooler that gives each transaction another session of the server, a statement that was
/// prepared under a name is not there the next time, or is another client's: those statements have
/// no name. (Each then takes a round trip more.)
impl On<'_> {
    pub(super) fn query<'q>(&self, sql: impl SqlSafeStr) -> Query<'q, Postgres, PgArguments> {
        sqlx::query(sql).persistent(!self.pooled)
    }

    /// A query for one value.
    pub(super) fn scalar<'q, T>(
        &self,
        sql: impl SqlSafeStr,
    ) -> QueryScalar<'q, Postgres, T, PgArguments>
    where
        (T,): for<'r> FromRow<'r, PgRow>,
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        sqlx::query_scalar(sql).persistent(!self.pooled)
    }

    /// For one statement of several.
    pub(super) fn again(&mut self) -> On<'_> {
        On {
            conn: self.conn,
            pooled: self.pooled,
        }
    }
}
