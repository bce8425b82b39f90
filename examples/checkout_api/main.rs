//! An HTTP API whose payments can be sent again: `POST /orders/{id}/pay` with an `Idempotency-Key`.
//!
//! - `cargo run --example checkout_api` plays through what clients do: a missing key, a duplicate, a
//!   changed body, two at once, a second key for one order. Then it counts the bank's charges.
//! - `cargo run --example checkout_api -- 127.0.0.1:3000` serves, for a client of your own:
//!
//! ```text
//! curl -i localhost:3000/orders/42/pay -H 'authorization: Bearer acme' \
//!   -H 'idempotency-key: "a1"' --json '{"card":"visa"}'
//! ```

mod api;
mod bank;
mod client;
mod error;
mod orders;

use std::net::SocketAddr;
use std::time::Duration;

use api::Api;
use bank::Bank;
use client::Client;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = orders::open(folder.path()).await?;
    let bank = Bank::slow(Duration::from_millis(300));
    let address: SocketAddr = match std::env::args().nth(1) {
        Some(address) => address.parse()?,
        None => ([127, 0, 0, 1], 0).into(),
    };
    let listener = TcpListener::bind(address).await?;
    let client = Client::new(listener.local_addr()?, "acme");
    let app = api::router(Api {
        store,
        bank: bank.clone(),
    });
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    if std::env::args().nth(1).is_some() {
        println!("serving on {address}, until Ctrl-C");
        return Ok(server.await??);
    }
    play(&client).await?;
    for (key, requests) in bank.requests() {
        println!("the bank was asked {requests} times with {key}, and charged once");
    }
    Ok(())
}

async fn play(client: &Client) -> anyhow::Result<()> {
    println!("without a key      {}", client.pay(42, None, "visa").await?);
    println!(
        "with a key         {}",
        client.pay(42, Some("a1"), "visa").await?
    );
    println!(
        "the same again     {}",
        client.pay(42, Some("a1"), "visa").await?
    );
    println!(
        "with another card  {}",
        client.pay(42, Some("a1"), "amex").await?
    );
    println!(
        "with another key   {}",
        client.pay(42, Some("a2"), "visa").await?
    );
    let (first, second) = tokio::join!(
        client.pay(43, Some("b1"), "visa"),
        client.pay(43, Some("b1"), "visa"),
    );
    println!(
        "two at once        {}\n                   {}",
        first?, second?
    );
    println!(
        "no such order      {}",
        client.pay(7, Some("c1"), "visa").await?
    );
    println!(
        "declined           {}",
        client.pay(44, Some("d1"), "stolen").await?
    );
    println!(
        "and another card   {}",
        client.pay(44, Some("d2"), "visa").await?
    );
    Ok(())
}
