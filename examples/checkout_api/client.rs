//! A client of the API, over HTTP.

use std::fmt;
use std::net::SocketAddr;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use idempotent_runtime::axum::{IDEMPOTENCY_KEY, REPLAYED};

/// Far more than any answer of the API.
const ANSWER_LIMIT: usize = 1 << 16;

pub struct Client {
    http: hyper_util::client::legacy::Client<HttpConnector, Body>,
    address: SocketAddr,
    account: &'static str,
}

/// What the API answered.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Client {
    pub fn new(address: SocketAddr, account: &'static str) -> Self {
        Self {
            http: hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http(),
            address,
            account,
        }
    }

    /// Pays an order from a card; the key is sent as the header's string.
    pub async fn pay(&self, order: i64, key: Option<&str>, card: &str) -> anyhow::Result<Answer> {
        let quoted = key.map(|key| format!("\"{key}\""));
        self.pay_raw(order, quoted.as_deref(), card).await
    }

    /// The same with the header as it is given.
    pub async fn pay_raw(
        &self,
        order: i64,
        header: Option<&str>,
        card: &str,
    ) -> anyhow::Result<Answer> {
        let mut request = Request::post(format!("http://{}/orders/{order}/pay", self.address))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.account))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(value) = header {
            request = request.header(IDEMPOTENCY_KEY, value);
        }
        let body = serde_json::json!({ "card": card }).to_string();
        let response = self.http.request(request.body(Body::from(body))?).await?;
        let (parts, body) = response.into_parts();
        let body = to_bytes(Body::new(body), ANSWER_LIMIT).await?;
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec())?,
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status.as_u16())?;
        for name in [REPLAYED, header::RETRY_AFTER] {
            if let Some(value) = self.headers.get(&name) {
                write!(f, " ({name}: {})", value.to_str().unwrap_or_default())?;
            }
        }
        let problem: Option<serde_json::Value> = serde_json::from_str(&self.body).ok();
        match problem
            .as_ref()
            .and_then(|problem| problem["title"].as_str())
        {
            Some(title) => write!(f, " {title}"),
            None => write!(f, " {}", self.body),
        }
    }
}
