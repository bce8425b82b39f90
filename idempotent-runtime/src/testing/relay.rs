//! A relay between a process of the lab and its server, where every answer waits for its turn.
//!
//! A server may answer before the job's future has finished the poll in which it asked: then there is
//! no wait to cut at, and the next run has one. So what a server answers is held back while an
//! attempt is being polled, or has been woken and is about to be, as SQLite's threads hold theirs.
//!
//! And a relay knows when a process that was killed is gone for the server as well: the server closes
//! its side when it has done what was sent.

use std::future::pending;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::turns::Turns;

/// How long the server may take over what was sent to it last.
const DRAIN: Duration = Duration::from_secs(5);

/// Relays the connections of one process.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    /// Dropped to end it.
    end: oneshot::Sender<()>,
    task: Task,
}

/// A task that ends with this.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Relay {
    /// Opens one to a server.
    pub(super) async fn to(host: &str, port: u16, turns: &Turns) -> io::Result<Self> {
        let server = (host.to_owned(), port);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(relay(listener, server, turns.clone(), ended));
        Ok(Self {
            port,
            end,
            task: Task(task),
        })
    }

    /// Where it listens.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Waits until the server has done what the process, whose connections are closed, had sent.
    pub(super) async fn end(self) {
        let Self { end, mut task, .. } = self;
        drop(end);
        // A server that takes longer goes on without a listener.
        let _ = timeout(DRAIN, &mut task.0).await;
    }
}

async fn relay(
    listener: TcpListener,
    server: (String, u16),
    turns: Turns,
    mut ended: oneshot::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut ended => break,
            client = listener.accept() => {
                if let Ok((client, _)) = client {
                    connections.spawn(pass(client, server.clone(), turns.clone()));
                }
            }
        }
    }
    while connections.join_next().await.is_some() {}
}

/// Passes one connection's bytes on. An error ends it, which both sides see as a broken connection.
async fn pass(client: TcpStream, server: (String, u16), turns: Turns) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut asked, mut told) = client.into_split();
    let (mut answered, mut asking) = server.into_split();
    let requests = async {
        let _ = copy(&mut asked, &mut asking).await;
        let _ = asking.shutdown().await;
        pending::<()>().await;
    };
    let answers = async {
        let mut buffer = vec![0; 1 << 16];
        let mut heard = true;
        loop {
            let read = answered.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            turns.quiet().await;
            // The server is heard to its end, though nobody may listen any more.
            heard = heard && told.write_all(&buffer[..read]).await.is_ok();
        }
    };
    tokio::select! {
        () = requests => Ok(()),
        ended = answers => ended,
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    /// A server that answers each line with the same, and says when it has heard the last of it.
    async fn echo() -> (u16, JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let (mut heard, mut buffer) = (Vec::new(), [0; 64]);
            loop {
                let read = client.read(&mut buffer).await.unwrap();
                if read == 0 {
                    return heard;
                }
                heard.extend_from_slice(&buffer[..read]);
                // The client may be gone.
                let _ = client.write_all(&buffer[..read]).await;
            }
        });
        (port, heard)
    }

    #[tokio::test]
    async fn an_answer_is_held_back_while_an_attempt_is_about_to_be_polled() {
        let (server, _) = echo().await;
        let turns = Turns::default();
        let relay = Relay::to("127.0.0.1", server, &turns).await.unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", relay.port()))
            .await
            .unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        turns.poll(1, &mut cx, |cx| cx.waker().wake_by_ref());
        client.write_all(b"ask").await.unwrap();
        let mut answer = [0; 3];
        let early = timeout(Duration::from_millis(50), client.read_exact(&mut answer)).await;
        assert!(early.is_err(), "{answer:?}");
        turns.leave(1);
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"ask");
    }

    #[tokio::test]
    async fn a_relay_ends_when_the_server_has_heard_all() {
        let (server, heard) = echo().await;
        let relay = Relay::to("127.0.0.1", server, &Turns::default())
            .await
            .unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", relay.port()))
            .await
            .unwrap();
        client.write_all(b"the last words").await.unwrap();
        let mut first = [0; 1];
        client.read_exact(&mut first).await.unwrap();
        drop(client);
        relay.end().await;
        assert!(heard.is_finished());
        assert_eq!(heard.await.unwrap(), b"the last words");
    }
}
