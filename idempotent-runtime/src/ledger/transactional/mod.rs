//! Transactional jobs: claim, guard, body, guard and completion in one transaction.
//!
//! - [`begin`]: the claim, or what is there already.
//! - [`run`]: the body's transaction, until it is completed, skipped or undone.

mod begin;
mod run;

use super::call::Call;
use crate::dialect::Backend;
use crate::gate::Pass;
use crate::held::Held;
use crate::store::{Store, Writer};
use crate::tx::Tx;

pub(crate) use begin::begin;
pub(super) use begin::{left_by_a_lease, read};

/// A transactional job between its claim and its completion. Dropped, it undoes everything.
pub struct TransactionalRun<'a, DB: Backend> {
    pub(in crate::ledger) call: Call,
    // Before what lets others go: the rollback is sent first.
    pub(in crate::ledger) tx: Tx<'a, DB>,
    pub(in crate::ledger) token: DB::Token,
    pub(in crate::ledger) held: Held,
    pub(in crate::ledger) joined: bool,
    pub(in crate::ledger) store: Option<Store<DB>>,
    pub(in crate::ledger) _pass: Option<Pass>,
    pub(in crate::ledger) _writer: Writer,
}

impl<DB: Backend> std::fmt::Debug for TransactionalRun<'_, DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransactionalRun")
            .field("key", &self.call.shown())
            .finish_non_exhaustive()
    }
}
