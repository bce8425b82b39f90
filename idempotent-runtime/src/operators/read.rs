//! The store's answers to operators.

use serde::de::DeserializeOwned;

use super::{Filter, KeyDetails, KeyInfo, Stats, StepInfo};
use crate::codec;
use crate::dialect::Backend;
use crate::error::{Error, ShownKey};
use crate::ledger::failed::IntoFailed as _;
use crate::observe;
use crate::store::Store;

/// For operators.
impl<DB: Backend> Store<DB> {
    /// Lists keys, without results.
    ///
    /// No index helps but the one over the keys themselves ([`Filter::prefix`], [`Filter::after`]):
    /// other conditions read every key, up to the limit.
    ///
    /// # Errors
    ///
    /// [`Error::SchemaMissing`] and its like, and [`Error::Database`].
    ///
    /// ```
    /// # async fn example(store: idempotent_runtime::SqliteStore) -> idempotent_runtime::Result<()> {
    /// use idempotent_runtime::operators::Filter;
    ///
    /// let mut page = Filter::new().prefix("order_").limit(1000);
    /// loop {
    ///     let keys = store.keys(&page).await?;
    ///     let Some(last) = keys.last() else { break };
    ///     page = page.after(&last.key);
    ///     println!("{} keys up to {}", keys.len(), last.key);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn keys(&self, filter: &Filter) -> Result<Vec<KeyInfo>, Error> {
        self.ready().await?;
        let mut conn = self.connection().await?;
        let rows = DB::keys(conn.on(), &filter.wanted())
            .await
            .map_err(|error| error.into_failed::<DB>("listing keys"))?;
        Ok(rows.into_iter().map(KeyInfo::from_row).collect())
    }

    /// One key with its steps, without results; `None` where the store does not know it.
    ///
    /// `key` is the encoded key, as errors and logs show it.
    ///
    /// # Errors
    ///
    /// [`Error::SchemaMissing`] and its like, and [`Error::Database`].
    pub async fn key(&self, key: impl AsRef<str>) -> Result<Option<KeyDetails>, Error> {
        let key = key.as_ref();
        self.ready().await?;
        let mut conn = self.connection().await?;
        let failed = |error: sqlx::Error| error.into_failed::<DB>("reading a key");
        let Some(row) = DB::key(conn.on(), key).await.map_err(failed)? else {
            return Ok(None);
        };
        let steps = DB::key_steps(conn.on(), key).await.map_err(failed)?;
        Ok(Some(KeyDetails {
            info: KeyInfo::from_row(row),
            steps: steps.into_iter().map(StepInfo::from_row).collect(),
        }))
    }

    /// The stored result of a finished key, as the job's type or as any other that its JSON
    /// decodes to; `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] where it does not decode, [`Error::SchemaMissing`] and its like, and
    /// [`Error::Database`].
    pub async fn result<T: DeserializeOwned>(
        &self,
        key: impl AsRef<str>,
    ) -> Result<Option<T>, Error> {
        let key = key.as_ref();
        self.ready().await?;
        let mut conn = self.connection().await?;
        let record = DB::read(conn.on(), key)
            .await
            .map_err(|error| error.into_failed::<DB>("reading a result"))?;
        let Some(record) = record else {
            return Ok(None);
        };
        let Some(bytes) = record.result else {
            return Ok(None);
        };
        self.decode(key, record.job, "", &bytes).map(Some)
    }

    /// The recorded result of a key's step, as [`result`](Self::result) gives the key's.
    ///
    /// # Errors
    ///
    /// Those of [`result`](Self::result).
    pub async fn step_result<T: DeserializeOwned>(
        &self,
        key: impl AsRef<str>,
        step: &str,
    ) -> Result<Option<T>, Error> {
        let key = key.as_ref();
        self.ready().await?;
        let mut conn = self.connection().await?;
        let steps = DB::steps(conn.on(), key)
            .await
            .map_err(|error| error.into_failed::<DB>("reading steps"))?;
        let Some(found) = steps.into_iter().find(|found| found.name == step) else {
            return Ok(None);
        };
        // The steps of a key that is to run again outlive its row.
        let row = DB::key(conn.on(), key)
            .await
            .map_err(|error| error.into_failed::<DB>("reading a key"))?;
        let job = row.map(|row| row.job).unwrap_or_default();
        self.decode(key, job, step, &found.result).map(Some)
    }

    /// Counts the keys by job and state. It reads every key.
    ///
    /// # Errors
    ///
    /// [`Error::SchemaMissing`] and its like, and [`Error::Database`].
    ///
    /// ```
    /// # async fn example(store: idempotent_runtime::SqliteStore) -> idempotent_runtime::Result<()> {
    /// use idempotent_runtime::operators::KeyState;
    ///
    /// let stats = store.stats().await?;
    /// for job in &stats.jobs {
    ///     println!("{}: {} keys, {} retried", job.job, job.keys(), job.retried);
    /// }
    /// assert_eq!(stats.count(KeyState::InDoubt), 0, "somebody has to look");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stats(&self) -> Result<Stats, Error> {
        self.ready().await?;
        let mut conn = self.connection().await?;
        let rows = DB::counts(conn.on())
            .await
            .map_err(|error| error.into_failed::<DB>("counting keys"))?;
        let stats = Stats::from_rows(rows);
        observe::counted(&stats);
        Ok(stats)
    }

    fn decode<T: DeserializeOwned>(
        &self,
        key: &str,
        job: String,
        step: &str,
        bytes: &[u8],
    ) -> Result<T, Error> {
        codec::decode(bytes).map_err(|problem| Error::Decode {
            key: match self.options().log_keys {
                true => ShownKey::new(key),
                false => ShownKey::hidden(key),
            },
            job,
            path: match step {
                "" => problem.path,
                step => format!("step {step}: {}", problem.path),
            },
            problem: problem.what,
        })
    }
}
