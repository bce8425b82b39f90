//! Letting a leased key go before its lease ends: the best effort of an attempt that will not
//! complete it. Where it fails, the lease ends by itself.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::call::Call;
use super::failed::IntoFailed as _;
use super::record::Holder;
use crate::dialect::Backend;
use crate::error::Error;
use crate::key::Key;
use crate::observe::{self, Watched};
use crate::retry::alone;
use crate::store::{Store, WRITER_WAIT};

/// Before each try.
const PAUSES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(500),
];

/// What is let go.
pub(super) struct Release<DB: Backend> {
    store: Store<DB>,
    key: Key,
    span: Watched,
    holder: Holder,
    /// The claim may arrive after this.
    early: bool,
}

impl<DB: Backend> Release<DB> {
    pub(super) fn of(call: &Call, store: &Store<DB>, holder: Holder) -> Self {
        Self {
            store: store.clone(),
            key: call.key.clone(),
            span: call.span.clone(),
            holder,
            early: false,
        }
    }

    /// The next attempt may take the key over at once.
    pub(super) async fn now(self, why: &'static str) {
        for pause in PAUSES {
            sleep(pause).await;
            match self.once(why).await {
                Ok(false) if self.early => {}
                Ok(_) => return,
                Err(problem) => {
                    observe::not_released(&self.span, &problem);
                    if !problem.is_retryable() {
                        return;
                    }
                }
            }
        }
    }

    /// The same where nobody waits for it, as far as there still is a runtime.
    pub(super) fn later(self, why: &'static str) {
        if !self.store.has_crashed()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(self.now(why));
        }
    }

    async fn once(&self, why: &str) -> Result<bool, Error> {
        let deadline = Instant::now() + WRITER_WAIT;
        let (mut tx, _writer) = self.store.write_connection(deadline).await?;
        let key = self.key.as_str();
        alone!(
            DB,
            deadline,
            tx,
            point!(
                "ledger::release",
                "release",
                DB::release(tx.on(), key, &self.holder, why)
            )
        )
        .map_err(|error| error.into_failed::<DB>("releasing a key"))
    }
}

/// A lease that was asked for. Dropped before the answer, or with none, it lets go of what may have
/// been granted all the same.
pub(super) struct Asked<DB: Backend>(Option<Release<DB>>);

impl<DB: Backend> Asked<DB> {
    /// `fence` is the one that the attempt would have.
    pub(super) fn of(call: &Call, store: &Store<DB>, fence: i64) -> Self {
        let holder = Holder {
            owner: call.owner,
            fence,
        };
        Self(Some(Release {
            early: true,
            ..Release::of(call, store, holder)
        }))
    }

    /// Notes the answer: the database's own errors are one, a lost connection is none.
    pub(super) fn answer<T>(mut self, answer: sqlx::Result<T>) -> sqlx::Result<T> {
        if matches!(answer, Ok(_) | Err(sqlx::Error::Database(_))) {
            self.0 = None;
        }
        answer
    }
}

impl<DB: Backend> Drop for Asked<DB> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release.later("cut off");
        }
    }
}
