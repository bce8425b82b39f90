//! The protocol: what a key's state means, and what follows. Speaks no SQL.
//!
//! - [`record`]: the row of a key, and what is sent to the dialect.
//! - [`judge`]: what a row that is already there means to a call.
//! - [`call`]: what both kinds of job do first: key, nesting, gate, replay.
//! - [`transactional`]: claim, body and completion in one transaction of ours.
//! - [`joined`]: the same inside a transaction of the caller's.
//! - [`leased`]: a committed claim with a lease, and a completion transaction.
//! - `release`: letting a leased key go before its lease ends.
//! - [`failed`]: from the database's errors to ours.

pub(crate) mod call;
pub(crate) mod failed;
pub(crate) mod joined;
pub(crate) mod judge;
pub(crate) mod leased;
#[cfg(feature = "failpoints")]
mod mutant;
pub(crate) mod record;
mod release;
pub(crate) mod transactional;

use std::pin::pin;
use std::time::Duration;

use crate::dialect::{Backend, Fault};
use crate::error::Error;
use crate::observe;
use crate::patience;
use crate::retry::alone;
use crate::store::{Store, WRITER_WAIT};
use crate::tx::Tx;
use call::Call;
use failed::IntoFailed as _;
use record::{Claim, Claimed, Status};
use tokio::time::Instant;

/// Marks a key as one that only a person can decide on, on a connection of its own.
async fn doubt<DB: Backend>(store: &Store<DB>, claim: &Claim<'_>, why: &str) -> Result<(), Error> {
    let deadline = Instant::now() + WRITER_WAIT;
    let (mut tx, _writer) = store.write_connection(deadline).await?;
    alone!(
        DB,
        deadline,
        tx,
        point!("ledger::doubt", "mark", DB::doubt(tx.on(), claim, why))
    )
    .map_err(|error| error.into_failed::<DB>("marking a key as in doubt"))?;
    observe::doubted(claim.job);
    Ok(())
}

/// Whether this very attempt completed its key; `false` also where it cannot be told.
async fn is_done_by<DB: Backend>(store: &Store<DB>, call: &Call) -> bool {
    let Ok(mut conn) = store.connection().await else {
        return false;
    };
    let record = point!(
        "ledger::unknown",
        "read",
        DB::read(conn.on(), call.key.as_str())
    )
    .await;
    matches!(
        record,
        Ok(Some(record)) if record.status == Status::Done && record.owner == call.owner
    )
}

/// Whether a claim failed because another claim of the key is under way. (Where there is one writer
/// only, a lock says nothing about the key.)
fn is_held<DB: Backend>(error: &sqlx::Error) -> bool {
    !DB::ONE_WRITER && DB::fault(error) == Fault::Locked
}

/// How long the database may take for a claim, beside `wait`: one that queues longer than it was told
/// is not waited for. (The wait for a lock begins anew behind the next holder; and on PostgreSQL, the
/// server limits no wait for a row that is held without its key's lock.)
const PATIENCE: Duration = Duration::from_secs(1);

/// Claims the key within the open transaction; nothing where the call's time is up.
async fn claim_in_time<DB: Backend>(
    tx: &mut Tx<'_, DB>,
    claim: &Claim<'_>,
) -> Option<sqlx::Result<Claimed<DB::Token>>> {
    let deadline = std::time::Instant::now() + claim.lock_wait + PATIENCE;
    let claimed = pin!(point!("ledger::claim", "claim", DB::claim(tx.on(), claim)));
    patience::within(deadline, claimed).await
}
