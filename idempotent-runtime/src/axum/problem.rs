//! Problem details, as RFC 9457 has them.

use std::fmt::Display;
use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// Where the types of problems are explained.
const DOCS: &str = "https://docs.rs/idempotent-runtime/latest/idempotent_runtime/";

/// A problem, and what is sent beside it.
#[derive(Debug, Serialize)]
pub(super) struct Problem<'a> {
    #[serde(rename = "type")]
    about: String,
    title: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The kind of error, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// The inputs that differ from those of the first request.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    inputs: &'a [String],
    #[serde(skip)]
    retry_after: Option<Duration>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(status: StatusCode, title: &'a str) -> Self {
        Self {
            about: "about:blank".to_owned(),
            title,
            status: status.as_u16(),
            detail: None,
            kind: None,
            inputs: &[],
            retry_after: None,
        }
    }

    /// A page of this crate's docs.
    pub(super) fn about(mut self, page: &str) -> Self {
        self.about = format!("{DOCS}{page}");
        self
    }

    pub(super) fn detail(mut self, detail: &dyn Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    pub(super) fn kind(mut self, kind: &'static str) -> Self {
        self.kind = Some(kind);
        self
    }

    pub(super) fn inputs(mut self, names: &'a [String]) -> Self {
        self.inputs = names;
        self
    }

    pub(super) fn retry_after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(pause);
        self
    }
}

impl IntoResponse for Problem<'_> {
    fn into_response(self) -> Response {
        // Text and numbers always encode.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(pause) = self.retry_after {
            // Whole seconds, and not too early.
            let seconds = pause.as_secs() + u64::from(pause.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response
    }
}
