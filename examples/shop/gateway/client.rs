use std::net::SocketAddr;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;

use super::{Charge, IDEMPOTENCY_KEY, Receipt, Report};

/// Far more than any answer of the gateway.
const ANSWER_LIMIT: usize = 1 << 20;

/// The shop's connection to the gateway.
#[derive(Clone, Debug)]
pub struct Gateway {
    http: Client<HttpConnector, Body>,
    address: SocketAddr,
}

/// Why there is no receipt. Whether the charge was made is not known: ask again
/// with the same key.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("the gateway answered {0}")]
    Refused(StatusCode),
    #[error("the gateway cannot be reached")]
    Connection(#[from] hyper_util::client::legacy::Error),
    #[error("the request could not be made")]
    Request(#[from] axum::http::Error),
    #[error("the gateway's answer broke off")]
    Body(#[from] axum::Error),
    #[error("not in the gateway's form")]
    Json(#[from] serde_json::Error),
}

impl Gateway {
    pub fn new(address: SocketAddr) -> Self {
        let http = Client::builder(TokioExecutor::new()).build_http();
        Self { http, address }
    }

    /// Charges an order. With a key, however often it is called with it, one
    /// charge is made; without, one a call.
    pub async fn charge(
        &self,
        order_id: i64,
        cents: i64,
        key: Option<&str>,
    ) -> Result<Receipt, GatewayError> {
        let mut request = Request::post(format!("http://{}/charges", self.address))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        let body = serde_json::to_vec(&Charge { order_id, cents })?;
        self.send(request.body(Body::from(body))?).await
    }

    async fn send<T: DeserializeOwned>(&self, request: Request<Body>) -> Result<T, GatewayError> {
        let response = self.http.request(request).await?;
        if !response.status().is_success() {
            return Err(GatewayError::Refused(response.status()));
        }
        let body = to_bytes(Body::new(response.into_body()), ANSWER_LIMIT).await?;
        Ok(serde_json::from_slice(&body)?)
    }
}

/// What the gateway at `address` has counted so far.
pub async fn report(address: SocketAddr) -> Result<Report, GatewayError> {
    let request = Request::get(format!("http://{address}/report")).body(Body::empty())?;
    Gateway::new(address).send(request).await
}
