//! The key that a client sends.

use std::fmt;

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use serde::Serialize;

use super::problem::Problem;
use super::structured;
use crate::key::{KeyPart, KeyWriter};

/// The header `idempotency-key`.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header `Idempotency-Key` of a request, as an extractor.
///
/// The header is that of the IETF draft *The Idempotency-Key HTTP Header Field*: a structured field
/// whose value is a string, so it is sent in quotes: `Idempotency-Key: "8e03978e-40d5"`. A request
/// without it, or with one that is malformed, empty or sent twice, is answered with 400 and says why;
/// with `Option<IdempotencyKey>`, one without it passes.
///
/// It is a part of a job's key, and can be an input like any other value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key, without its quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of a request's headers.
    ///
    /// # Errors
    ///
    /// Where there is none, or none that can be used.
    ///
    /// ```
    /// use http::HeaderMap;
    /// use idempotent_runtime::axum::{IdempotencyKey, IdempotencyKeyRejection};
    ///
    /// let mut headers = HeaderMap::new();
    /// let missing = IdempotencyKey::from_headers(&headers);
    /// assert_eq!(missing, Err(IdempotencyKeyRejection::Missing));
    ///
    /// headers.insert("idempotency-key", "\"8e03978e-40d5\"".parse().unwrap());
    /// let key = IdempotencyKey::from_headers(&headers).unwrap();
    /// assert_eq!(key.as_str(), "8e03978e-40d5");
    /// ```
    pub fn from_headers(headers: &HeaderMap) -> Result<Self, IdempotencyKeyRejection> {
        let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
        let value = values.next().ok_or(IdempotencyKeyRejection::Missing)?;
        if values.next().is_some() {
            return Err(IdempotencyKeyRejection::Twice);
        }
        let key = value.to_str().ok().and_then(structured::string);
        match key.ok_or(IdempotencyKeyRejection::Malformed)? {
            empty if empty.is_empty() => Err(IdempotencyKeyRejection::Empty),
            key => Ok(Self(key)),
        }
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for IdempotencyKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl KeyPart for IdempotencyKey {
    fn write(&self, part: &mut KeyWriter<'_>) {
        part.push_str(&self.0);
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = IdempotencyKeyRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Self::from_headers(&parts.headers)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for IdempotencyKey {
    type Rejection = IdempotencyKeyRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Self::Rejection> {
        match Self::from_headers(&parts.headers) {
            Ok(key) => Ok(Some(key)),
            Err(IdempotencyKeyRejection::Missing) => Ok(None),
            Err(rejection) => Err(rejection),
        }
    }
}

/// Why a request has no [`IdempotencyKey`]. As a response: 400, with a problem that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdempotencyKeyRejection {
    /// The header is not there.
    #[error("this operation needs the header `Idempotency-Key`, with a key of your own making")]
    Missing,
    /// The header is not a string of a structured field.
    #[error("the header `Idempotency-Key` is a string in double quotes, such as \"8e03978e-40d5\"")]
    Malformed,
    /// The key has no character.
    #[error("the key in the header `Idempotency-Key` is empty")]
    Empty,
    /// The header is there more than once.
    #[error("the header `Idempotency-Key` is sent more than once")]
    Twice,
}

impl IntoResponse for IdempotencyKeyRejection {
    fn into_response(self) -> Response {
        let title = match self {
            Self::Missing => "Idempotency-Key is missing",
            _ => "Idempotency-Key is malformed",
        };
        Problem::new(StatusCode::BAD_REQUEST, title)
            .about("axum/enum.IdempotencyKeyRejection.html")
            .detail(&self)
            .into_response()
    }
}
