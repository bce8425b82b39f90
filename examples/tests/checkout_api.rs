//! The example's API, by a client over HTTP.

#[path = "../checkout_api/api.rs"]
mod api;
#[path = "../checkout_api/bank.rs"]
mod bank;
#[path = "../checkout_api/client.rs"]
mod client;
#[path = "../checkout_api/error.rs"]
mod error;
#[path = "../checkout_api/orders.rs"]
mod orders;

use std::time::Duration;

use api::{Api, Receipt};
use bank::Bank;
use client::{Answer, Client};
use idempotent_runtime::SqliteStore;
use tokio::net::TcpListener;

/// A server of the test's own.
struct Served {
    client: Client,
    other: Client,
    bank: Bank,
    store: SqliteStore,
    _folder: tempfile::TempDir,
}

impl Served {
    /// Until an attempt holds the key.
    async fn until_claimed(&self, key: &str) {
        while self.store.key(key).await.expect("the ledger").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn served(delay: Duration) -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let store = orders::open(folder.path()).await.expect("a store");
    let bank = Bank::slow(delay);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = api::router(Api {
        store: store.clone(),
        bank: bank.clone(),
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    Served {
        client: Client::new(address, "acme"),
        other: Client::new(address, "globex"),
        bank,
        store,
        _folder: folder,
    }
}

fn receipt(answer: &Answer) -> Receipt {
    assert_eq!(answer.status, 200, "{answer}");
    serde_json::from_str(&answer.body).expect("a receipt")
}

/// The members of a problem, whose media type and status are checked.
fn problem(answer: &Answer, status: u16) -> serde_json::Value {
    assert_eq!(answer.status, status, "{answer}");
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    let problem: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(problem["status"], status);
    let about = problem["type"].as_str().expect("a type");
    assert!(
        about.starts_with("https://docs.rs/idempotent-runtime/"),
        "{about}"
    );
    problem
}

fn is_replayed(answer: &Answer) -> bool {
    answer
        .headers
        .get("idempotent-replayed")
        .is_some_and(|value| value == "true")
}

#[tokio::test]
async fn a_duplicate_gets_the_first_answer() {
    let served = served(Duration::ZERO).await;
    let first = served.client.pay(42, Some("a"), "visa").await.unwrap();
    let second = served.client.pay(42, Some("a"), "visa").await.unwrap();
    assert_eq!(receipt(&first), receipt(&second));
    assert_eq!((is_replayed(&first), is_replayed(&second)), (false, true));
    assert_eq!(served.bank.requests()["order_42"], 1);
}

#[tokio::test]
async fn a_concurrent_duplicate_is_told_to_come_back() {
    let served = served(Duration::from_secs(1)).await;
    let pay = || served.client.pay(42, Some("a"), "visa");
    let second = async {
        served.until_claimed("acme:pay:a").await;
        pay().await
    };
    let (first, second) = tokio::join!(pay(), second);
    let (first, second) = (first.unwrap(), second.unwrap());
    let conflict = problem(&second, 409);
    assert_eq!(conflict["kind"], "busy");
    let retry_after: u64 = second.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=10).contains(&retry_after), "{retry_after}");
    let third = pay().await.unwrap();
    assert!(is_replayed(&third));
    assert_eq!(receipt(&third), receipt(&first));
    assert_eq!(served.bank.requests()["order_42"], 1);
}

#[tokio::test]
async fn a_changed_body_is_refused_by_name() {
    let served = served(Duration::ZERO).await;
    receipt(&served.client.pay(42, Some("a"), "visa").await.unwrap());
    let card = served.client.pay(42, Some("a"), "amex").await.unwrap();
    let card = problem(&card, 422);
    assert_eq!(card["kind"], "input_mismatch");
    assert_eq!(card["inputs"], serde_json::json!(["payment.card"]));
    assert!(!card.to_string().contains("amex"));
    let order = served.client.pay(43, Some("a"), "visa").await.unwrap();
    let order = problem(&order, 422);
    assert_eq!(order["inputs"], serde_json::json!(["order_id"]));
    assert_eq!(served.bank.requests().len(), 1);
}

#[tokio::test]
async fn a_missing_or_malformed_key_is_refused() {
    let served = served(Duration::ZERO).await;
    let missing = served.client.pay(42, None, "visa").await.unwrap();
    assert_eq!(
        problem(&missing, 400)["title"],
        "Idempotency-Key is missing"
    );
    for header in ["unquoted", "\"\"", "\"a\", \"b\"", "\"é\""] {
        let malformed = served
            .client
            .pay_raw(42, Some(header), "visa")
            .await
            .unwrap();
        let malformed = problem(&malformed, 400);
        assert_eq!(malformed["title"], "Idempotency-Key is malformed");
    }
    assert!(served.bank.requests().is_empty());
}

#[tokio::test]
async fn a_failure_leaves_the_key_free() {
    let served = served(Duration::ZERO).await;
    let declined = served.client.pay(42, Some("a"), "stolen").await.unwrap();
    assert_eq!(declined.status, 402);
    let again = served.client.pay(42, Some("a"), "stolen").await.unwrap();
    assert_eq!(again.status, 402);
    receipt(&served.client.pay(42, Some("b"), "visa").await.unwrap());
    let unknown = served.client.pay(7, Some("c"), "visa").await.unwrap();
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn keys_of_two_accounts_never_meet() {
    let served = served(Duration::ZERO).await;
    let first = served.client.pay(42, Some("a"), "visa").await.unwrap();
    let second = served.other.pay(43, Some("a"), "visa").await.unwrap();
    assert_ne!(receipt(&first), receipt(&second));
    assert!(!is_replayed(&second));
}

#[tokio::test]
async fn an_order_is_charged_once_whatever_keys_are_sent() {
    let served = served(Duration::from_millis(50)).await;
    let keys = ["a", "b", "c", "d"];
    let pays = keys.map(|key| served.client.pay(42, Some(key), "visa"));
    for answer in futures_util::future::join_all(pays).await {
        assert_eq!(receipt(&answer.unwrap()).charge, "charge of order_42");
    }
    assert_eq!(served.bank.requests()["order_42"], 1);
}

#[tokio::test]
async fn a_client_that_hangs_up_and_comes_back_pays_once() {
    let served = served(Duration::from_millis(500)).await;
    let pay = || served.client.pay(42, Some("a"), "visa");
    tokio::select! {
        answer = pay() => panic!("it was answered first: {answer:?}"),
        () = served.until_claimed("acme:pay:a") => {}
    }
    let answer = loop {
        let answer = pay().await.unwrap();
        if answer.status != 409 {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(receipt(&answer).charge, "charge of order_42");
    assert_eq!(served.bank.requests()["order_42"], 1);
}
