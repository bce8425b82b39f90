//! What errors mean, by their number.

use sqlx::mysql::MySqlDatabaseError;

use super::super::{Fault, common_fault};

/// A duplicate key.
pub(super) const DUPLICATE: u16 = 1062;
/// A missing table.
pub(super) const NO_TABLE: u16 = 1146;
/// A statement that the server cannot parse.
pub(super) const SYNTAX: u16 = 1064;
/// A savepoint that is not there.
pub(super) const NO_SAVEPOINT: u16 = 1305;
/// The whole transaction was undone: a deadlock, or a row that changed since the snapshot.
pub(super) const GAVE_WAY: &[u16] = &[1213, 1020];
/// The whole transaction may have been undone, as the server is set up.
pub(super) const UNDONE: &[u16] = &[1205, 1206];

/// The server's number of an error.
pub(super) fn number(error: &sqlx::Error) -> Option<u16> {
    let sqlx::Error::Database(error) = error else {
        return None;
    };
    error
        .try_downcast_ref::<MySqlDatabaseError>()
        .map(MySqlDatabaseError::number)
}

pub(super) fn fault(error: &sqlx::Error) -> Fault {
    match number(error) {
        Some(NO_TABLE) if is_ledger(error) => Fault::NoSchema,
        Some(number) => by_number(number),
        None => common_fault(error),
    }
}

fn by_number(number: u16) -> Fault {
    match number {
        // A lock wait that timed out, or (MySQL) that was not to wait.
        1205 | 3572 => Fault::Locked,
        // A deadlock; a row changed since the snapshot (MariaDB); a conflict found at commit (group
        // replication); the savepoint of a job is gone with its transaction.
        1213 | 1020 | 3101 | NO_SAVEPOINT => Fault::GaveWay,
        // The table was altered since the snapshot.
        1412 => Fault::StaleSnapshot,
        // Too many connections, of all or of this user; shutting down; the statement or the
        // connection was killed, or took too long; the network; too many transactions or locks; a
        // cluster's node that is not ready.
        1040
        | 1203
        | 1226
        | 1053
        | 1317
        | 1927
        | 1969
        | 3024
        | 4031
        | 1158..=1161
        | 1637
        | 1206
        | 1047 => Fault::Passing,
        _ => Fault::Lasting,
    }
}

fn is_ledger(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.message().contains("idempotent_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_retried_is_told_from_what_cannot() {
        assert_eq!(by_number(1213), Fault::GaveWay);
        assert_eq!(by_number(1020), Fault::GaveWay);
        assert_eq!(by_number(1205), Fault::Locked);
        for passing in [1040, 1053, 1927, 1158, 1161] {
            assert_eq!(by_number(passing), Fault::Passing, "{passing}");
        }
        // Read-only servers and transactions, other missing tables, syntax, duplicates.
        for lasting in [1290, 1792, 1836, NO_TABLE, 1064, DUPLICATE] {
            assert_eq!(by_number(lasting), Fault::Lasting, "{lasting}");
        }
        assert_eq!(fault(&sqlx::Error::PoolTimedOut), Fault::Passing);
    }
}
