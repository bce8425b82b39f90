//! The API: one handler, and the job that it stands on.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::routing::post;
use axum::{Json, Router};
use idempotent_runtime::axum::IdempotencyKey;
use idempotent_runtime::{Job, Outcome, Sqlite, SqliteStore, idempotent};
use serde::{Deserialize, Serialize};

use crate::bank::Bank;
use crate::error::ApiError;
use crate::orders;

/// What the handlers work with.
#[derive(Clone)]
pub struct Api {
    pub store: SqliteStore,
    pub bank: Bank,
}

/// The routes.
pub fn router(api: Api) -> Router {
    Router::new()
        .route("/orders/{id}/pay", post(pay))
        .with_state(api)
}

/// What a client sends.
#[derive(Debug, Serialize, Deserialize)]
pub struct Payment {
    pub card: String,
}

/// What a client gets, and gets again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub order: i64,
    pub charge: String,
}

/// The handler as axum takes it: its store comes from its state. A request that is sent again gets
/// the first answer; the account keeps the keys of one client from those of another.
#[idempotent(key = "<account>:pay:<key>", store = api.store, wait = 0s, lease = 10s, retain = 1d)]
async fn pay(
    job: &mut Job<'_, Sqlite>,
    State(api): State<Api>,
    Account(account): Account,
    Path(order_id): Path<i64>,
    key: IdempotencyKey,
    Json(payment): Json<Payment>,
) -> Result<Receipt, ApiError> {
    match charge(job.store(), &api.bank, order_id, &payment.card).await? {
        Outcome::Performed(receipt) | Outcome::Replayed(receipt) => Ok(receipt),
        Outcome::Skipped(_) => Err(ApiError::NoSuchOrder),
    }
}

/// One charge for each order, with whatever keys its client asks, and from whatever card.
#[idempotent(
    key = "order_<order_id>",
    guard = orders::paid,
    existing = orders::receipt,
    missing,
    ignore(card),
    lease = 10s
)]
async fn charge(
    job: &mut Job<'_, Sqlite>,
    bank: &Bank,
    order_id: i64,
    card: &str,
) -> Result<Receipt, ApiError> {
    let cents = orders::total(job.pool(), order_id).await?;
    let charge = bank.charge(card, cents, job.key()).await?;
    orders::mark_paid(job.tx().await?, order_id, &charge).await?;
    Ok(Receipt {
        order: order_id,
        charge,
    })
}

/// Who sends a request. (A stand-in for a check of the token.)
struct Account(String);

impl<S: Send + Sync> FromRequestParts<S> for Account {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let header = parts.headers.get(AUTHORIZATION);
        let token = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        token
            .map(|token| Self(token.to_owned()))
            .ok_or(ApiError::Unknown)
    }
}
