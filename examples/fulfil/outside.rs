//! The world outside: a payment gateway and a carrier behind one address. They live in the parent,
//! and so outlive every worker.
//!
//! Both honour keys: what is asked for again with the same key gets the first answer, and happens
//! once. What is asked for with another key happens again.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use idempotent_runtime::Key;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A worker's way there.
pub struct Outside(pub SocketAddr);

impl Outside {
    /// Has something done for an order: `charge` or `ship`.
    pub async fn ask(&self, what: &str, key: &Key, order_id: i64) -> Result<String> {
        let mut stream = TcpStream::connect(self.0).await?;
        let request = format!("{what} {order_id} {key}\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).await?;
        ensure!(answer.ends_with('\n'), "no answer to {what} {key}");
        Ok(answer.trim_end().to_owned())
    }
}

/// What the outside has heard and done.
#[derive(Clone, Default)]
pub struct Books(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    /// What was asked for, and for which order.
    requests: Vec<(String, i64)>,
    /// The same, for what was done.
    effects: Vec<(String, i64)>,
    /// The answers, by key.
    answers: HashMap<String, String>,
}

impl Books {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the gates.
    pub async fn open(&self) -> Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let books = self.clone();
        tokio::spawn(async move {
            // One worker is at work at a time. What one asked for is done, though it is dead by then.
            while let Ok((stream, _)) = listener.accept().await {
                if let Err(error) = books.serve(stream).await {
                    eprintln!("outside: {error:#}");
                }
            }
        });
        Ok(address)
    }

    async fn serve(&self, stream: TcpStream) -> Result<()> {
        let mut stream = BufReader::new(stream);
        let mut request = String::new();
        stream.read_line(&mut request).await?;
        let mut words = request.split_whitespace();
        let mut word = || words.next().context("half a request");
        let answer = self.act(word()?, word()?.parse()?, word()?);
        stream.write_all(format!("{answer}\n").as_bytes()).await?;
        Ok(())
    }

    fn act(&self, what: &str, order_id: i64, key: &str) -> String {
        let mut entries = self.entries();
        entries.requests.push((what.to_owned(), order_id));
        if let Some(answer) = entries.answers.get(key) {
            return answer.clone();
        }
        entries.effects.push((what.to_owned(), order_id));
        let answer = format!("{what}_{}", entries.effects.len());
        entries.answers.insert(key.to_owned(), answer.clone());
        answer
    }

    /// How often something was done for an order.
    pub fn effects(&self, what: &str, order_id: i64) -> i64 {
        count(&self.entries().effects, what, order_id)
    }

    /// How often it was asked for.
    pub fn requests(&self, what: &str, order_id: i64) -> i64 {
        count(&self.entries().requests, what, order_id)
    }
}

fn count(entries: &[(String, i64)], what: &str, order_id: i64) -> i64 {
    let entries = entries
        .iter()
        .filter(|entry| **entry == (what.to_owned(), order_id));
    entries.count().try_into().unwrap_or(i64::MAX)
}
