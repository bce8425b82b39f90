//! Deciding by hand what the database cannot know.

use serde::Serialize;
use tokio::time::Instant;

use crate::codec;
use crate::dialect::{Backend, Begin};
use crate::error::{Error, ShownKey};
use crate::ledger::failed::IntoFailed as _;
use crate::observe;
use crate::store::Store;

/// What is to become of a key that is in doubt, or whose attempt was left unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution<T = ()> {
    /// The work was done, with this result: it is replayed from now on.
    Complete(T),
    /// Nothing was done: the key is forgotten, as if it had never been used. (Works on a finished
    /// key too.)
    Forget,
    /// The work was not done, or can safely be repeated: the next call runs it, with the same key,
    /// and what its steps recorded.
    RunAgain,
}

impl Resolution<()> {
    /// [`Forget`](Self::Forget), where no type of a result is at hand.
    pub const FORGET: Self = Self::Forget;
    /// [`RunAgain`](Self::RunAgain), where no type of a result is at hand.
    pub const RUN_AGAIN: Self = Self::RunAgain;
}

impl<DB: Backend> Store<DB> {
    /// Decides on a key that is in doubt, or whose last attempt was left unfinished.
    ///
    /// `key` is the encoded key, as errors and logs show it.
    ///
    /// # Errors
    ///
    /// [`Error::NotResolvable`] where the key is not known, is done already, or is held by an
    /// attempt that may be at work; [`Error::Encode`] where the given result cannot be stored;
    /// [`Error::Database`].
    ///
    /// ```
    /// # async fn example(store: idempotent_runtime::SqliteStore) -> idempotent_runtime::Result<()> {
    /// use idempotent_runtime::Resolution;
    ///
    /// // The gateway's own records say that order 42 was charged:
    /// store.resolve("order_42", Resolution::Complete("receipt_7")).await?;
    /// // … or that it was not:
    /// store.resolve("order_43", Resolution::RUN_AGAIN).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resolve<T: Serialize>(
        &self,
        key: impl AsRef<str>,
        resolution: Resolution<T>,
    ) -> Result<(), Error> {
        let key = key.as_ref();
        let result = match &resolution {
            Resolution::Complete(value) => {
                Some(codec::encode(value).map_err(|problem| Error::Encode {
                    what: "the given result".to_owned(),
                    problem,
                })?)
            }
            Resolution::Forget | Resolution::RunAgain => None,
        };
        let forget = matches!(resolution, Resolution::Forget);
        drop(resolution);
        self.resolve_encoded(key, result.as_deref(), forget).await
    }

    async fn resolve_encoded(
        &self,
        key: &str,
        result: Option<&[u8]>,
        forget: bool,
    ) -> Result<(), Error> {
        self.ready().await?;
        let how = Begin { mark: false };
        let failed = |error: sqlx::Error| error.into_failed::<DB>("resolving a key");
        let (mut tx, _writer) = self.begin_write(how, Instant::now()).await?;
        let (done, how) = match (result, forget) {
            (Some(result), _) => (DB::resolve_done(tx.on(), key, result).await, "complete"),
            (None, true) => (DB::resolve_forget(tx.on(), key).await, "forget"),
            (None, false) => (DB::resolve_again(tx.on(), key).await, "run again"),
        };
        let shown = if self.options().log_keys {
            ShownKey::new(key)
        } else {
            ShownKey::hidden(key)
        };
        if done.map_err(failed)? {
            tx.commit().await.map_err(failed)?;
            observe::resolved(&shown, how);
            return Ok(());
        }
        let known = DB::read(tx.on(), key).await.map_err(failed)?.is_some();
        Err(Error::NotResolvable {
            key: shown,
            problem: if known {
                "it is done already, or an attempt holds it; wait for the lease to end, or `Forget` a \
                 finished key"
            } else {
                "the store does not know it"
            },
        })
    }
}
