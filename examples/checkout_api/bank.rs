//! A bank that honours idempotency keys, and takes its time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idempotent_runtime::Key;

use crate::error::ApiError;

/// How often each key was asked for.
type Requests = BTreeMap<String, u32>;

#[derive(Clone, Default)]
pub struct Bank {
    delay: Duration,
    requests: Arc<Mutex<Requests>>,
}

impl Bank {
    /// One that takes this long for each answer.
    pub fn slow(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    /// Charges a card; the same key gives the same charge.
    pub async fn charge(&self, card: &str, _cents: i64, key: &Key) -> Result<String, ApiError> {
        tokio::time::sleep(self.delay).await;
        if card == "stolen" {
            return Err(ApiError::Declined);
        }
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry(key.to_string()).or_default() += 1;
        Ok(format!("charge of {key}"))
    }

    /// How often each key was asked for.
    pub fn requests(&self) -> Requests {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.clone()
    }
}
