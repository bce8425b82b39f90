//! The world outside: a payment gateway in a process of its own, and its client. A few lines of HTTP,
//! one request a connection.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::Result;
use super::pipe::{Heard, say};

/// How the gateway behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manners {
    /// Whether it honours idempotency keys.
    pub honours: bool,
    /// How long a charge takes at most, in milliseconds.
    pub delay: u64,
    /// Of a hundred charges, how many have their reply dropped, or answered with a 500.
    pub drops: u8,
    /// How long it remembers a key, in milliseconds.
    pub remembers: u64,
}

impl Manners {
    /// Honours keys for longer than any run, at once, and always answers.
    pub const GOOD: Self = Self {
        honours: true,
        delay: 0,
        drops: 0,
        remembers: u64::MAX,
    };
}

/// What the gateway counted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Charges made, by what was charged.
    pub charges: BTreeMap<String, u64>,
    /// Requests for a charge, whatever became of them.
    pub requests: u64,
    /// Replies that were dropped or replaced by a 500.
    pub dropped: u64,
}

#[derive(Default)]
struct Books {
    counted: Counted,
    /// The receipt of a key, once it is made, and when the key came first.
    keys: HashMap<String, (Option<String>, Instant)>,
}

/// Serves until the parent is gone; says its address first.
pub async fn serve(manners: Manners) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(&listener.local_addr()?);
    let books = Arc::new(Mutex::new(Books::default()));
    let mut parent = Heard::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                tokio::spawn(answer(stream, Arc::clone(&books), manners));
            }
            word = parent.next::<()>() => if word.is_none() { return Ok(()) },
        }
    }
}

async fn answer(mut stream: TcpStream, books: Arc<Mutex<Books>>, manners: Manners) -> Option<()> {
    let request = head(&mut stream).await?;
    let header = |name: &str| {
        request.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    };
    if request.starts_with("GET") {
        let counted = serde_json::to_string(&lock(&books).counted).ok()?;
        return reply(&mut stream, 200, &counted).await;
    }
    let order = header("order")?;
    let key = header("idempotency-key").filter(|_| manners.honours);
    match known(&books, key.as_deref(), manners) {
        Some(Some(receipt)) => return reply(&mut stream, 200, &receipt).await,
        Some(None) => return reply(&mut stream, 409, "being worked on").await,
        None => {}
    }
    // A charge that is begun is made, whoever still listens: nothing ends this task.
    sleep(Duration::from_millis(fastrand::u64(0..=manners.delay))).await;
    let drops = fastrand::u8(0..100) < manners.drops;
    let receipt = charge(&books, order, key, drops);
    match drops {
        true if fastrand::bool() => reply(&mut stream, 500, "after the charge").await,
        true => None,
        false => reply(&mut stream, 201, &receipt).await,
    }
}

/// What the gateway remembers of a key, which it notes if it is new: the receipt, once there is one.
fn known(books: &Mutex<Books>, key: Option<&str>, manners: Manners) -> Option<Option<String>> {
    let mut books = lock(books);
    books.counted.requests += 1;
    let key = key?;
    let remembers = Duration::from_millis(manners.remembers);
    books
        .keys
        .retain(|_, (_, since)| since.elapsed() < remembers);
    let known = books.keys.get(key).map(|(receipt, _)| receipt.clone());
    if known.is_none() {
        books.keys.insert(key.to_owned(), (None, Instant::now()));
    }
    known
}

fn charge(books: &Mutex<Books>, order: String, key: Option<String>, drops: bool) -> String {
    let mut books = lock(books);
    *books.counted.charges.entry(order).or_default() += 1;
    books.counted.dropped += u64::from(drops);
    let receipt = format!("ch_{}", books.counted.charges.values().sum::<u64>());
    if let Some(key) = key {
        books
            .keys
            .insert(key, (Some(receipt.clone()), Instant::now()));
    }
    receipt
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    // The books are whole whatever panicked while they were held.
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        let mut byte = [0; 512];
        let n = stream.read(&mut byte).await.ok()?;
        read.extend_from_slice(byte.get(..n)?);
        if n == 0 || read.len() > 1 << 14 {
            return None;
        }
    }
    String::from_utf8(read).ok()
}

async fn reply(stream: &mut TcpStream, status: u16, body: &str) -> Option<()> {
    let text = format!("HTTP/1.1 {status} .\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

/// The client's end.
#[derive(Debug, Clone, Copy)]
pub struct Gateway(pub SocketAddr);

impl Gateway {
    /// Charges for `order`; with a key that the gateway honours, once however often it is called.
    pub async fn charge(&self, order: &str, key: Option<&str>) -> std::io::Result<String> {
        let key = key.map_or_else(String::new, |key| format!("Idempotency-Key: {key}\r\n"));
        self.ask(&format!(
            "POST /charges HTTP/1.1\r\nOrder: {order}\r\n{key}\r\n"
        ))
        .await
    }

    /// What it has counted so far.
    pub async fn counted(&self) -> Result<Counted> {
        let text = self.ask("GET /counted HTTP/1.1\r\n\r\n").await?;
        Ok(serde_json::from_str(&text)?)
    }

    async fn ask(&self, request: &str) -> std::io::Result<String> {
        let asked = async {
            let mut stream = TcpStream::connect(self.0).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            let refused = || std::io::Error::other(format!("the gateway answered {text:?}"));
            let (head, body) = text.split_once("\r\n\r\n").ok_or_else(refused)?;
            match head.get(9..10) {
                Some("2") => Ok(body.to_owned()),
                _ => Err(refused()),
            }
        };
        timeout(Duration::from_secs(10), asked)
            .await
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }
}
