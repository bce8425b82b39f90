use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use tokio::net::TcpListener;

use super::{Charge, IDEMPOTENCY_KEY, Receipt, Report};
use crate::pipe::{self, Heard};

/// How long the card network takes: long enough for a second request to arrive meanwhile.
const CARD_NETWORK: Duration = Duration::from_millis(3);

/// Serves until the parent is gone. Says its address first.
pub async fn serve() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    pipe::say(&listener.local_addr()?);
    let app = Router::new()
        .route("/charges", post(charge))
        .route("/report", get(report))
        .with_state(Arc::<Gateway>::default());
    let mut parent = Heard::new();
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        parent = parent.next::<()>() => drop(parent?),
    }
    Ok(())
}

#[derive(Default)]
struct Gateway(Mutex<Books>);

#[derive(Default)]
struct Books {
    report: Report,
    keys: HashMap<String, Remembered>,
}

struct Remembered {
    charge: Charge,
    /// None while it is being worked on.
    receipt: Option<Receipt>,
}

impl Gateway {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn charge(&self, charge: Charge, key: Option<String>) -> Receipt {
        tokio::time::sleep(CARD_NETWORK).await;
        let mut books = self.books();
        *books.report.charges.entry(charge.order_id).or_default() += 1;
        let receipt = Receipt {
            charge_id: format!("ch_{}", books.report.charges.values().sum::<u64>()),
        };
        if let Some(key) = key {
            let receipt = Some(receipt.clone());
            books.keys.insert(key, Remembered { charge, receipt });
        }
        receipt
    }
}

async fn charge(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    Json(charge): Json<Charge>,
) -> Response {
    let key = headers
        .get(IDEMPOTENCY_KEY)
        .and_then(|key| key.to_str().ok());
    {
        let mut books = gateway.books();
        books.report.requests += 1;
        if let Some(key) = key {
            match books.keys.get(key) {
                Some(first) if first.charge != charge => {
                    return StatusCode::UNPROCESSABLE_ENTITY.into_response();
                }
                Some(Remembered { receipt: None, .. }) => {
                    return StatusCode::CONFLICT.into_response();
                }
                Some(Remembered {
                    receipt: Some(receipt),
                    ..
                }) => return Json(receipt.clone()).into_response(),
                None => {
                    let charge = charge.clone();
                    books.keys.insert(
                        key.to_owned(),
                        Remembered {
                            charge,
                            receipt: None,
                        },
                    );
                }
            }
        }
    }
    // A task of its own: a charge that is begun is made, whether or not the caller lives to hear of it.
    let key = key.map(str::to_owned);
    match tokio::spawn(async move { gateway.charge(charge, key).await }).await {
        Ok(receipt) => (StatusCode::CREATED, Json(receipt)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn report(State(gateway): State<Arc<Gateway>>) -> Json<Report> {
    Json(gateway.books().report.clone())
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    async fn ask(gateway: &Arc<Gateway>, key: Option<&str>, cents: i64) -> (u16, Option<Receipt>) {
        let key = key.map(|key| (IDEMPOTENCY_KEY.parse().unwrap(), key.parse().unwrap()));
        let headers = HeaderMap::from_iter(key);
        let order = Json(Charge {
            order_id: 42,
            cents,
        });
        let response = charge(State(Arc::clone(gateway)), headers, order).await;
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1000).await.unwrap();
        (status, serde_json::from_slice(&body).ok())
    }

    #[tokio::test]
    async fn keys_are_honoured() {
        let gateway = Arc::default();
        let (first, meanwhile) =
            tokio::join!(ask(&gateway, Some("k"), 1), ask(&gateway, Some("k"), 1));
        assert_eq!((first.0, meanwhile), (201, (409, None)));
        assert_eq!(ask(&gateway, Some("k"), 1).await, (200, first.1));
        assert_eq!(ask(&gateway, Some("k"), 2).await, (422, None));
        assert_eq!(gateway.books().report.charges[&42], 1);
        assert_eq!(gateway.books().report.requests, 4);
    }

    #[tokio::test]
    async fn without_a_key_every_request_is_a_charge() {
        let gateway = Arc::default();
        assert_ne!(ask(&gateway, None, 1).await, ask(&gateway, None, 1).await);
        assert_eq!(gateway.books().report.charges[&42], 2);
    }

    #[tokio::test]
    async fn a_charge_that_is_begun_is_made() {
        let gateway = Arc::default();
        // The caller goes away while the card network is at it.
        tokio::select! {
            biased;
            _ = ask(&gateway, Some("k"), 1) => unreachable!(),
            () = std::future::ready(()) => {}
        }
        let (status, receipt) = loop {
            match ask(&gateway, Some("k"), 1).await {
                (409, _) => tokio::task::yield_now().await,
                answer => break answer,
            }
        };
        assert!(status == 200 && receipt.is_some());
        assert_eq!(gateway.books().report.charges[&42], 1);
    }
}
