//! Late attempts: a gateway that forgets keys after a while, an attempt that was left over, and the
//! ways to find out what it did before anything is repeated: `cargo run --example late`.
//!
//! A retry is safe because the gateway knows the key. It does not know it forever: the large ones
//! keep keys for a day or so. `key_window` says for how long, and a leftover attempt that is older
//! is not repeated blindly: it is looked up (`reconcile`), or left to a person (`store.resolve`).
//!
//! Nobody waits for a day here: the gateway forgets when it is told to, and the ledger's first
//! attempt is made two days old by hand.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use anyhow::{Result, bail, ensure};
use idempotent_runtime::{Error, Job, Key, Outcome, Resolution, Sqlite, SqliteStore, idempotent};

/// Once the gateway may have forgotten the key, a person decides.
#[idempotent(key = "pay_<order_id>", key_window = 24h)]
async fn pay(job: &mut Job<'_, Sqlite>, gateway: &Gateway, order_id: i64) -> Result<String> {
    gateway.charge(order_id, job.key())
}

/// The gateway can be asked for an order's charge: nobody has to decide.
#[idempotent(key = "look_<order_id>", key_window = 24h, reconcile = find(gateway, order_id))]
async fn pay_or_find(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<String> {
    gateway.charge(order_id, job.key())
}

/// Asked before a leftover attempt is repeated: `Some` completes the job with it, `None` runs it.
async fn find(_: &mut Job<'_, Sqlite>, gateway: &Gateway, order_id: i64) -> Result<Option<String>> {
    Ok(gateway.charges_of(order_id).pop())
}

/// Says of this gateway that it remembers keys forever, which it does not.
#[idempotent(key = "blind_<order_id>", key_window = forever)]
async fn pay_blindly(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    order_id: i64,
) -> Result<String> {
    gateway.charge(order_id, job.key())
}

/// Honours keys until it forgets them; keeps its books forever.
#[derive(Default)]
struct Gateway(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    keys: HashMap<String, String>,
    charges: Vec<(i64, String)>,
    next: Next,
}

/// What becomes of the next request.
#[derive(Default)]
enum Next {
    #[default]
    Answered,
    /// Charged, but the connection breaks before the answer.
    AnswerLost,
    /// Not charged: the connection breaks before the request is there.
    RequestLost,
}

impl Gateway {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().expect("nothing panics inside")
    }

    fn charge(&self, order_id: i64, key: &Key) -> Result<String> {
        let inside = &mut *self.inside();
        let next = std::mem::take(&mut inside.next);
        ensure!(!matches!(next, Next::RequestLost), "the connection broke");
        let receipt = match inside.keys.get(key.as_str()) {
            Some(receipt) => receipt.clone(),
            None => {
                let receipt = format!("ch_{}", inside.charges.len() + 1);
                inside.charges.push((order_id, receipt.clone()));
                inside.keys.insert(key.as_str().to_owned(), receipt.clone());
                receipt
            }
        };
        ensure!(!matches!(next, Next::AnswerLost), "the connection broke");
        Ok(receipt)
    }

    fn charges_of(&self, order_id: i64) -> Vec<String> {
        let inside = self.inside();
        let charges = inside.charges.iter().filter(|(of, _)| *of == order_id);
        charges.map(|(_, receipt)| receipt.clone()).collect()
    }
}

/// Two days pass: the gateway forgets its keys, and the ledger's attempts grow old.
async fn two_days_pass(store: &SqliteStore, gateway: &Gateway) -> Result<()> {
    gateway.inside().keys.clear();
    let age = "UPDATE idempotent_keys SET first_at = first_at - 2 * 86400000";
    sqlx::query(age).execute(store.pool()).await?;
    Ok(())
}

/// Says what was done, and that it came out as it has to.
fn tell(said: &str, gateway: &Gateway, order_id: i64, charges: usize) -> Result<()> {
    let made = gateway.charges_of(order_id).len();
    println!("   {said}; charges of order {order_id}: {made}");
    ensure!(
        made == charges,
        "order {order_id} has {made} charges, not {charges}"
    );
    Ok(())
}

/// Has the next request to the gateway go wrong, and makes it.
async fn left_over<T>(
    gateway: &Gateway,
    next: Next,
    attempt: impl Future<Output = Result<T>>,
) -> Result<()> {
    gateway.inside().next = next;
    match attempt.await {
        Ok(_) => bail!("the attempt was to fail"),
        Err(error) => println!("   an attempt fails: {error}"),
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let store = SqliteStore::open(&format!("sqlite:{}/late.db", dir.path().display())).await?;
    let gateway = &Gateway::default();

    println!(
        "1. In time: the answer is lost, and the retry comes while the gateway knows the key."
    );
    left_over(gateway, Next::AnswerLost, pay(&store, gateway, 1)).await?;
    let Outcome::Performed(receipt) = pay(&store, gateway, 1).await? else {
        bail!("nothing was stored to be replayed");
    };
    tell(
        &format!("the retry asks again, and is given {receipt}"),
        gateway,
        1,
        1,
    )?;

    println!(
        "2. Too late, and nobody looked: `key_window = forever`, said of a gateway that forgets."
    );
    left_over(gateway, Next::AnswerLost, pay_blindly(&store, gateway, 2)).await?;
    two_days_pass(&store, gateway).await?;
    let Outcome::Performed(receipt) = pay_blindly(&store, gateway, 2).await? else {
        bail!("nothing was stored to be replayed");
    };
    tell(
        &format!("two days later the retry is given {receipt}: THE CUSTOMER PAID TWICE"),
        gateway,
        2,
        2,
    )?;

    println!("3. Too late: `key_window = 24h` stops the retry, and a person finds the charge.");
    left_over(gateway, Next::AnswerLost, pay(&store, gateway, 3)).await?;
    two_days_pass(&store, gateway).await?;
    let key = refused(pay(&store, gateway, 3).await)?;
    let Some(receipt) = gateway.charges_of(3).pop() else {
        bail!("the gateway's books have the charge");
    };
    store.resolve(&key, Resolution::Complete(&receipt)).await?;
    let Outcome::Replayed(replayed) = pay(&store, gateway, 3).await? else {
        bail!("resolved: there is nothing to run");
    };
    ensure!(replayed == receipt, "{replayed} is not {receipt}");
    tell(
        &format!("resolved with `Complete`: the retry replays {replayed}"),
        gateway,
        3,
        1,
    )?;

    println!("4. Too late again, but the request was lost: a person finds no charge.");
    left_over(gateway, Next::RequestLost, pay(&store, gateway, 4)).await?;
    two_days_pass(&store, gateway).await?;
    let key = refused(pay(&store, gateway, 4).await)?;
    ensure!(gateway.charges_of(4).is_empty(), "there is a charge");
    store.resolve(&key, Resolution::RUN_AGAIN).await?;
    let Outcome::Performed(receipt) = pay(&store, gateway, 4).await? else {
        bail!("nothing was stored to be replayed");
    };
    tell(
        &format!("resolved with `RunAgain`: the retry is given {receipt}"),
        gateway,
        4,
        1,
    )?;

    println!("5. Too late, with `reconcile`: the job looks for the charge itself, and finds it.");
    left_over(gateway, Next::AnswerLost, pay_or_find(&store, gateway, 5)).await?;
    two_days_pass(&store, gateway).await?;
    let Outcome::Replayed(receipt) = pay_or_find(&store, gateway, 5).await? else {
        bail!("what is found is not run again");
    };
    tell(
        &format!("the retry charges nothing, and answers {receipt}"),
        gateway,
        5,
        1,
    )?;

    println!("6. The same, and there is no charge: the job runs.");
    left_over(gateway, Next::RequestLost, pay_or_find(&store, gateway, 6)).await?;
    two_days_pass(&store, gateway).await?;
    let Outcome::Performed(receipt) = pay_or_find(&store, gateway, 6).await? else {
        bail!("there was nothing to be found");
    };
    tell(&format!("the retry is given {receipt}"), gateway, 6, 1)?;
    Ok(())
}

/// The key of a retry that was refused because the window has passed.
fn refused<T: std::fmt::Debug, S: std::fmt::Debug>(retry: Result<Outcome<T, S>>) -> Result<String> {
    let error = match retry {
        Ok(outcome) => bail!("the retry was to be refused: {outcome:?}"),
        Err(error) => error.downcast::<Error>()?,
    };
    println!("   two days later the retry fails: {error}");
    match error {
        Error::KeyWindowPassed { key, .. } => Ok(key.to_string()),
        error => Err(error.into()),
    }
}
