//! What can go wrong in a job of the shop.

use std::time::Duration;

use crate::gateway::GatewayError;
use crate::mail::MailError;

#[derive(Debug, thiserror::Error)]
pub enum ShopError {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the payment failed")]
    Gateway(#[from] GatewayError),
    #[error("the mail failed")]
    Mail(#[from] MailError),
}

impl ShopError {
    /// How long to wait before trying again; None if that would change nothing.
    pub fn retry_after(&self) -> Option<Duration> {
        const SOON: Duration = Duration::from_millis(20);
        match self {
            Self::Idempotent(idempotent_runtime::Error::Busy { retry_after, .. }) => {
                Some(*retry_after)
            }
            Self::Idempotent(error) => error.is_retryable().then_some(SOON),
            Self::Database(_) | Self::Gateway(_) | Self::Mail(_) => Some(SOON),
        }
    }
}
