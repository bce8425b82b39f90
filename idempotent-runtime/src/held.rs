//! The keys that this task holds, so that a job that reaches its own key is an error at once and
//! not a wait for itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ShownKey};
use crate::key::Key;

tokio::task_local! {
    static HELD: Held;
}

/// A key that is held, and those that its caller holds.
#[derive(Debug, Clone)]
pub(crate) struct Held(Arc<Link>);

#[derive(Debug)]
struct Link {
    key: Key,
    job: &'static str,
    /// Which store; a call on a bare connection is of the store whose body it is in.
    store: Option<StoreId>,
    /// Whether a write transaction is open that keeps other writers out (SQLite).
    writes: Arc<AtomicBool>,
    caller: Option<Held>,
}

/// Tells stores apart; clones of one store are one.
pub(crate) type StoreId = usize;

impl Held {
    /// Checks that a call would not wait for its own caller, and notes what it holds.
    ///
    /// `joins`: the call uses the caller's transaction. `writes`: set while a write transaction of
    /// the job is open, where the database takes one writer only.
    pub(crate) fn enter(
        key: &Key,
        shown: impl Fn() -> ShownKey,
        job: &'static str,
        store: Option<StoreId>,
        joins: bool,
        writes: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let caller = HELD.try_with(Clone::clone).ok();
        let store = store.or_else(|| caller.as_ref().and_then(|held| held.0.store));
        let mut above = caller.as_ref();
        while let Some(held) = above {
            let link = &held.0;
            if link.key == *key && link.store == store {
                let own = link.job == job;
                return Err(Error::Nested {
                    key: shown(),
                    job: job.to_owned(),
                    advice: if own {
                        "it is called from its own body, with its own key"
                    } else {
                        "a job that holds this key calls it; give each job keys of its own"
                    },
                });
            }
            if !joins
                && link.store == store
                && store.is_some()
                && link.writes.load(Ordering::Relaxed)
            {
                return Err(Error::Nested {
                    key: shown(),
                    job: job.to_owned(),
                    advice: "this task has a write transaction open, and SQLite has one writer: pass \
                             `&mut *conn` in place of the store, or call it before `job.tx()`",
                });
            }
            above = link.caller.as_ref();
        }
        Ok(Self(Arc::new(Link {
            key: key.clone(),
            job,
            store,
            writes,
            caller,
        })))
    }

    /// For a job whose whole body is one write transaction.
    pub(crate) fn writing(keeps_others_out: bool) -> Arc<AtomicBool> {
        Arc::new(AtomicBool::new(keeps_others_out))
    }

    /// Does what knows of this key.
    pub(crate) fn scope(&self, work: impl FnOnce()) {
        HELD.sync_scope(self.clone(), work);
    }
}
