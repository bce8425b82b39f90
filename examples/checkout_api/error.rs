//! How a request fails.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// Why a payment was not made. A job that fails so leaves its key free: the same request can be
/// sent again.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Mismatch, in progress, … : these are responses already.
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the card was declined")]
    Declined,
    #[error("there is no such order")]
    NoSuchOrder,
    #[error("say who you are, with `Authorization: Bearer …`")]
    Unknown,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Idempotent(error) => return error.into_response(),
            Self::Database(error) => {
                eprintln!("the database failed: {error}");
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
            Self::Declined => StatusCode::PAYMENT_REQUIRED,
            Self::NoSuchOrder => StatusCode::NOT_FOUND,
            Self::Unknown => StatusCode::UNAUTHORIZED,
        };
        (status, self.to_string()).into_response()
    }
}
