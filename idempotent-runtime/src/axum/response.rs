//! Outcomes and errors as responses.

use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

use super::problem::Problem;
use crate::error::Error;
use crate::outcome::{Outcome, Skip, SkipReason};

/// The header `idempotent-replayed`: `true` where the answer is an earlier request's.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The header `idempotent-skipped`: why there was nothing to do, as [`Skip::as_str`] has it.
pub const SKIPPED: HeaderName = HeaderName::from_static("idempotent-skipped");

/// When to try again after what passes by itself.
const SOON: Duration = Duration::from_secs(1);

/// With the feature `axum`, an outcome is a response:
///
/// - performed: 200, and the value as JSON;
/// - replayed: the same, with the header [`idempotent-replayed: true`](REPLAYED);
/// - skipped, with the reason in the header [`idempotent-skipped`](SKIPPED): 204 where the work is done
///   already (`guard`, `unique`); 404 where there is no such record (`missing`) and 409 where a
///   precondition forbids it (`condition`), both with a problem.
///
/// For another status, `match` on the outcome in a handler of its own.
impl<T: Serialize, S: SkipReason> IntoResponse for Outcome<T, S> {
    fn into_response(self) -> Response {
        match self {
            Self::Performed(value) => json(&value),
            Self::Replayed(value) => {
                let mut response = json(&value);
                let headers = response.headers_mut();
                headers.insert(REPLAYED, HeaderValue::from_static("true"));
                response
            }
            Self::Skipped(why) => skipped(why.reason()),
        }
    }
}

fn json(value: &impl Serialize) -> Response {
    // It was stored as JSON, so it encodes.
    let Ok(body) = serde_json::to_vec(value) else {
        return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
            .into_response();
    };
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn skipped(why: &Skip) -> Response {
    const PAGE: &str = "enum.Skip.html";

    let mut response = match why {
        Skip::Guard | Skip::Unique { .. } => StatusCode::NO_CONTENT.into_response(),
        Skip::Missing => Problem::new(StatusCode::NOT_FOUND, "There is no such record")
            .about(&format!("{PAGE}#variant.Missing"))
            .into_response(),
        Skip::Condition => {
            Problem::new(StatusCode::CONFLICT, "The operation is not wanted any more")
                .about(&format!("{PAGE}#variant.Condition"))
                .into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(SKIPPED, HeaderValue::from_static(why.as_str()));
    response
}

/// With the feature `axum`, an error is a response with a problem (RFC 9457), whose member `kind` is
/// [`Error::kind`]:
///
/// | status | errors |
/// |---|---|
/// | 400 | `EmptyKeyPart` |
/// | 409, with `Retry-After` | `Busy` |
/// | 422 | `InputMismatch` (the member `inputs` names them), `KeyTaken` |
/// | 503, with `Retry-After` | what [is retryable](Error::is_retryable): `LeaseLost`, `Database`, … |
/// | 500 | everything else: somebody has to repair or decide something |
///
/// What the client cannot change is told in the log, and not in the response: for 500 and 503 the
/// handler's own error is to be logged where it is made.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let page = |variant: &str| format!("enum.Error.html#variant.{variant}");
        let kind = self.kind();
        let problem = match &self {
            Self::Busy { retry_after, .. } => Problem::new(
                StatusCode::CONFLICT,
                "A request with this Idempotency-Key is being worked on",
            )
            .about(&page("Busy"))
            .retry_after(*retry_after),
            Self::InputMismatch { names, .. } => Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "This Idempotency-Key was used for another request",
            )
            .about(&page("InputMismatch"))
            .detail(
                &"the first request with this key had other inputs: use another key, or send the \
                      same request",
            )
            .inputs(names),
            Self::KeyTaken { .. } => Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "This Idempotency-Key was used for another operation",
            )
            .about(&page("KeyTaken"))
            .detail(&"use another key"),
            Self::EmptyKeyPart { part, .. } => {
                Problem::new(StatusCode::BAD_REQUEST, "A part of the key is empty")
                    .about(&page("EmptyKeyPart"))
                    .detail(&format_args!("`{part}` is empty"))
            }
            error if error.is_retryable() => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Try again")
                    .about("enum.Error.html")
                    .detail(
                        &"sending the same request again, with the same Idempotency-Key, is safe",
                    )
                    .retry_after(SOON)
            }
            _ => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
                .about("enum.Error.html"),
        };
        problem.kind(kind).into_response()
    }
}
