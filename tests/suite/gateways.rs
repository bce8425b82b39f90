//! Gateways that charge, and then do not say so.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idempotent_runtime::{Job, idempotent};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::business::{Failure, leave};
use crate::db::Db;
use crate::world::World;

/// What a gateway does once it has charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// It says that it failed.
    SaysSo,
    /// It says nothing.
    IsSilent,
    /// It resets the connection.
    Resets,
}

/// A gateway on a socket, which honours keys, and is in trouble at each key's first request.
#[derive(Debug, Clone, Default)]
struct Bank(Arc<Mutex<Vec<String>>>);

impl Bank {
    async fn open(&self, trouble: Trouble) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let bank = self.clone();
        tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                tokio::spawn(bank.clone().serve(caller, trouble));
            }
        });
        at
    }

    async fn serve(self, caller: TcpStream, trouble: Trouble) {
        let mut caller = BufReader::new(caller);
        let mut key = String::new();
        caller.read_line(&mut key).await.unwrap();
        let first = {
            let mut requests = self.0.lock().unwrap();
            let first = !requests.contains(&key);
            requests.push(key);
            first
        };
        match trouble {
            Trouble::SaysSo if first => caller.write_all(b"500\n").await.unwrap(),
            Trouble::IsSilent if first => std::future::pending().await,
            Trouble::Resets if first => caller.into_inner().set_zero_linger().unwrap(),
            _ => caller.write_all(b"200\n").await.unwrap(),
        }
    }

    /// Requests, and charges: one a key.
    fn counts(&self) -> (usize, usize) {
        let requests = self.0.lock().unwrap();
        (
            requests.len(),
            requests.iter().collect::<BTreeSet<_>>().len(),
        )
    }
}

async fn ask(bank: SocketAddr, key: &str) -> std::io::Result<()> {
    let mut line = BufReader::new(TcpStream::connect(bank).await?);
    line.write_all(format!("{key}\n").as_bytes()).await?;
    let mut answer = String::new();
    line.read_line(&mut answer).await?;
    match &*answer {
        "200\n" => Ok(()),
        other => Err(std::io::Error::other(other.to_owned())),
    }
}

#[idempotent(key = "troubled_<id>", ignore(bank))]
async fn troubled(job: &mut Job<'_, Db>, bank: SocketAddr, id: i64) -> Result<i64, Failure> {
    let asked = ask(bank, job.key().as_str());
    match tokio::time::timeout(Duration::from_millis(300), asked).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => return Err(Failure::Refused("the gateway failed")),
        Err(_) => return Err(Failure::Refused("the gateway was silent")),
    }
    leave(job.tx().await?, "troubled").await?;
    Ok(id)
}

/// 40: the body's error is the caller's, the retry has the same key, and it is charged once.
async fn a_charge_that_is_not_heard_of_is_made_once(world: World<Db>) {
    for (id, trouble) in (1..).zip([Trouble::SaysSo, Trouble::IsSilent, Trouble::Resets]) {
        let bank = Bank::default();
        let at = bank.open(trouble).await;
        let error = troubled(&world.store, at, id).await.unwrap_err();
        assert!(
            matches!(error, Failure::Refused(_)),
            "{trouble:?}: {error:?}"
        );
        assert_eq!(world.effects("troubled").await, id - 1, "{trouble:?}");
        assert!(troubled(&world.store, at, id).await.unwrap().is_performed());
        assert!(troubled(&world.store, at, id).await.unwrap().is_replayed());
        assert_eq!(bank.counts(), (2, 1), "{trouble:?}");
        assert_eq!(world.effects("troubled").await, id, "{trouble:?}");
    }
}

idempotent_tests::tests!(a_charge_that_is_not_heard_of_is_made_once);
