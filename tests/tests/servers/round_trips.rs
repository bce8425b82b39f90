//! Counts the round trips between a client and a PostgreSQL server.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// A proxy in front of a server, and what it has counted.
pub struct RoundTrips {
    port: u16,
    statements: Arc<AtomicI64>,
}

impl RoundTrips {
    /// Listens, and passes on to the server at a port.
    pub async fn before(server: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let statements = Arc::new(AtomicI64::new(0));
        let count = Arc::clone(&statements);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else {
                    return;
                };
                // Small messages, each waited for: none may wait for the next.
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let (mut from_client, to_client) = client.into_split();
                let (from_server, mut to_server) = server.into_split();
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    tokio::select! {
                        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
                        _ = replies(from_server, to_client, &count) => {}
                    }
                });
            }
        });
        Ok(Self { port, statements })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// How often the server has said that it is ready, after a statement. (The pool asks by itself
    /// whether a connection that comes back still answers: a round trip without a statement.)
    pub fn statements(&self) -> i64 {
        self.statements.load(Ordering::SeqCst)
    }
}

/// Passes on the server's messages, each a letter, its length and as much: `C` ends a statement, `Z`
/// a round trip. What a round trip brought is counted before the client gets it.
async fn replies(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    count: &AtomicI64,
) -> io::Result<()> {
    let mut ended_one = false;
    loop {
        let kind = from.read_u8().await?;
        let length = from.read_u32().await?;
        let mut message = Vec::with_capacity(length as usize + 1);
        message.push(kind);
        message.extend(length.to_be_bytes());
        message.resize(length as usize + 1, 0);
        from.read_exact(&mut message[5..]).await?;
        match kind {
            b'C' => ended_one = true,
            b'Z' => {
                count.fetch_add(i64::from(ended_one), Ordering::SeqCst);
                ended_one = false;
            }
            _ => {}
        }
        to.write_all(&message).await?;
    }
}
