//! Forgetting keys: what is finished, and was given a `retain`.

use tokio::time::Instant;

use crate::dialect::{Backend, Begin};
use crate::error::Error;
use crate::ledger::failed::IntoFailed as _;
use crate::observe;
use crate::store::Store;

/// How many keys one transaction forgets: few enough that no claim waits on it for long.
const BATCH: u32 = 500;

impl<DB: Backend> Store<DB> {
    /// Forgets the finished keys whose `retain` has passed, and gives their number.
    ///
    /// Only this forgets keys; call it from time to time. It works in small transactions, so that
    /// jobs go on meanwhile, and never touches a key that is running or in doubt.
    ///
    /// A forgotten job that has a guard is skipped when it is called again; one without **runs
    /// again**.
    ///
    /// # Errors
    ///
    /// [`Error::Database`]; what was forgotten until then stays forgotten.
    ///
    /// ```
    /// # async fn example(store: idempotent_runtime::SqliteStore) -> idempotent_runtime::Result<()> {
    /// let forgotten = store.purge().await?;
    /// println!("{forgotten} keys forgotten");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn purge(&self) -> Result<u64, Error> {
        let mut total = 0;
        loop {
            let keys = self.purge_some(BATCH).await?;
            total += keys;
            if keys < u64::from(BATCH) {
                return Ok(total);
            }
            // The writers that wait get their turn.
            tokio::task::yield_now().await;
        }
    }

    /// Forgets at most `limit` of the keys that [`purge`](Self::purge) would, in one transaction, and
    /// gives their number: less than `limit` when there are no more.
    ///
    /// # Errors
    ///
    /// [`Error::Database`]; nothing is forgotten then.
    ///
    /// ```
    /// # async fn example(store: idempotent_runtime::SqliteStore) -> idempotent_runtime::Result<()> {
    /// while store.purge_some(100).await? == 100 {
    ///     tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn purge_some(&self, limit: u32) -> Result<u64, Error> {
        let how = Begin { mark: false };
        let (mut tx, _writer) = self.begin_write(how, Instant::now()).await?;
        let keys = DB::purge(tx.on(), limit)
            .await
            .map_err(|error| error.into_failed::<DB>("forgetting keys"))?;
        tx.commit()
            .await
            .map_err(|error| error.into_failed::<DB>("forgetting keys"))?;
        observe::purged(keys);
        Ok(keys)
    }
}
