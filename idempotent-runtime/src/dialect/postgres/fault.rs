//! What an error code means.

use crate::dialect::{Fault, common_fault};

pub(super) fn fault(error: &sqlx::Error) -> Fault {
    let sqlx::Error::Database(database) = error else {
        return common_fault(error);
    };
    let code = database.code().unwrap_or_default();
    match &*code {
        // lock_not_available: `lock_timeout` has passed.
        "55P03" => Fault::Locked,
        // undefined_table. The message is in the server's language, the name is not.
        "42P01" if names_the_ledger(database.message()) => Fault::NoSchema,
        // query_canceled (`statement_timeout`), an administrator's or a crash's shutdown, a start
        // under way, a session that was idle for too long, a transaction that took too long.
        "57014" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "25P04" => Fault::Passing,
        code => match code.get(..2) {
            // A serialization failure or a deadlock. Inside a caller's transaction only the job's
            // savepoint is undone, and what the snapshot forbids stays forbidden.
            Some("40") => Fault::StaleSnapshot,
            // The connection; too few resources, such as connections.
            Some("08" | "53") => Fault::Passing,
            // Among them 25006, a server that takes no writes, and 25P02: the body went on after an
            // error, and the transaction was lost with it.
            _ => Fault::Lasting,
        },
    }
}

fn names_the_ledger(message: &str) -> bool {
    ["idempotent_keys", "idempotent_steps", "idempotent_meta"]
        .iter()
        .any(|table| message.contains(table))
}
