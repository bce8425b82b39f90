//! Between the workers and their server: cuts connections before and during COMMIT.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::proof::Result;

/// What the proxy does, and has done.
#[derive(Debug)]
pub struct Cuts {
    /// Of a thousand COMMITs, how many are cut.
    pub of_a_thousand: AtomicU64,
    /// Connections cut before the server got the COMMIT.
    pub before: AtomicU64,
    /// Connections cut when the server had it, and its answer had not come.
    pub during: AtomicU64,
    next: Mutex<Option<Cut>>,
    random: Mutex<fastrand::Rng>,
}

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Before the server got the COMMIT.
    Before,
    /// When the server had it, and its answer had not come.
    During,
}

impl Cuts {
    /// Cuts so many of a thousand COMMITs, by the seed.
    #[must_use]
    pub fn new(of_a_thousand: u64, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            of_a_thousand: AtomicU64::new(of_a_thousand),
            before: AtomicU64::new(0),
            during: AtomicU64::new(0),
            next: Mutex::new(None),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        })
    }

    /// Cuts the next COMMIT.
    pub fn cut_next(&self, cut: Cut) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(cut);
    }

    fn decide(&self) -> Option<Cut> {
        let next = self
            .next
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(cut) = next {
            return Some(self.counted(cut));
        }
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if random.u64(0..1000) >= self.of_a_thousand.load(Ordering::Relaxed) {
            return None;
        }
        let cut = if random.bool() {
            Cut::Before
        } else {
            Cut::During
        };
        Some(self.counted(cut))
    }

    fn counted(&self, cut: Cut) -> Cut {
        let count = match cut {
            Cut::Before => &self.before,
            Cut::During => &self.during,
        };
        count.fetch_add(1, Ordering::Relaxed);
        cut
    }
}

/// Listens, and passes on to a port; gives its own.
pub async fn listen(to: u16, cuts: Arc<Cuts>) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let cuts = Arc::clone(&cuts);
            tokio::spawn(async move {
                // A server that is down refuses its client by a closed connection.
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
                    return;
                };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let (client_reads, client_writes) = client.into_split();
                let (server_reads, server_writes) = server.into_split();
                // Whichever direction ends first ends the other; dropped halves close both.
                tokio::select! {
                    () = requests(client_reads, server_writes, &cuts) => {}
                    () = replies(server_reads, client_writes) => {}
                }
            });
        }
    });
    Ok(port)
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, cuts: &Cuts) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let bytes = &buffer[..read];
        let cut = if is_commit(bytes) {
            cuts.decide()
        } else {
            None
        };
        if cut == Some(Cut::Before) || to.write_all(bytes).await.is_err() || cut.is_some() {
            return;
        }
    }
}

async fn replies(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

/// Whether a packet says COMMIT: a word of its own, as READ COMMITTED has it too.
fn is_commit(bytes: &[u8]) -> bool {
    const WORD: &[u8] = b"COMMIT";
    bytes
        .windows(WORD.len())
        .position(|window| window == WORD)
        .is_some_and(|at| {
            bytes
                .get(at + WORD.len())
                .is_none_or(|next| !next.is_ascii_alphabetic())
        })
}

#[cfg(test)]
mod tests {
    use super::is_commit;

    #[test]
    fn a_commit_is_told_from_a_level_of_isolation() {
        assert!(is_commit(b"Q\0\0\0\x0bCOMMIT\0"));
        assert!(is_commit(b"\x07\0\0\0\x03COMMIT"));
        assert!(!is_commit(b"BEGIN ISOLATION LEVEL READ COMMITTED"));
        assert!(!is_commit(b"INSERT INTO effects"));
    }
}
