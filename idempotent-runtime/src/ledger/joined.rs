//! A transactional job on a connection of the caller's: in a savepoint of its open transaction, or
//! in a transaction of the job's own where none is open.

use super::call::{Begun, Call};
use super::failed::IntoFailed as _;
use super::judge::Ruling;
use super::record::{Claim, Claimed};
use super::transactional::{TransactionalRun, left_by_a_lease, read};
use crate::dialect::{Backend, Begin, Fault};
use crate::error::Error;
use crate::held::Held;
use crate::observe;
use crate::retry::{Pauses, retry_locked};
use crate::tx::Tx;
use crate::within::WithinTx;

const LOOKING: &str = "looking for an open transaction";
const RAW: &str = "the connection is in a transaction that raw SQL began; begin it with sqlx \
                   (`pool.begin()`, `conn.begin()`) or `store.begin()`, so that a job can join it";

/// How often a key that is taken, and that the transaction cannot see, is looked at again.
const LOOKS: u32 = 3;

pub(super) async fn begin<'a, DB: Backend>(
    call: Call,
    within: WithinTx<'a, DB>,
) -> Result<Begun<TransactionalRun<'a, DB>>, Error> {
    let mut tx = Tx::outer(within.conn, within.options.pooled);
    let joined = tx.is_nested();
    if joined {
        observe::joined(&call.span);
    }
    let held = Held::enter(
        &call.key,
        || call.shown(),
        call.site.name,
        within.store,
        true,
        Held::writing(DB::ONE_WRITER),
    )?;
    let fail = |error: sqlx::Error, doing| {
        if joined {
            error.into_failed_joined::<DB>(doing, call.shown())
        } else {
            error.into_failed::<DB>(doing)
        }
    };
    if !joined {
        let raw = DB::in_raw_transaction(tx.on()).await;
        if raw.map_err(|error| fail(error, LOOKING))? {
            return Err(fail(sqlx::Error::Protocol(RAW.to_owned()), LOOKING));
        }
    }
    let lock_deadline = call.lock_deadline();
    let mut looks = 0;
    let mut pauses = Pauses::until(lock_deadline);
    loop {
        if joined {
            point!("joined::begin", "savepoint", tx.begin(None))
                .await
                .map_err(|error| no_savepoint::<DB>(&call, error))?;
        } else {
            let how = Begin {
                mark: call.site.unique.is_some(),
            };
            retry_locked!(
                DB,
                lock_deadline,
                point!("joined::begin", "begin", tx.begin(Some(DB::begin(&how))))
            )
            .map_err(|error| fail(error, "beginning a transaction"))?;
        }
        let claim = Claim {
            in_turn: true,
            ..call.claim(joined)
        };
        let Some(claimed) = super::claim_in_time(&mut tx, &claim).await else {
            return Err(call.busy(call.site.wait));
        };
        let record = match claimed {
            Ok(Claimed::Fresh(token)) => {
                observe::claimed(&call.span, 1);
                return Ok(Begun::Run(TransactionalRun {
                    call,
                    tx,
                    token,
                    held,
                    joined,
                    store: None,
                    _pass: None,
                    _writer: None,
                }));
            }
            Ok(Claimed::Taken(Some(record))) => Some(record),
            Ok(Claimed::Taken(None)) => {
                point!("joined::begin", "read", read(&mut tx, &call)).await?
            }
            Err(error) => {
                if DB::GIVING_WAY_ENDS_ALL && DB::fault(&error) == Fault::GaveWay {
                    tx.distrust();
                    return Err(fail(error, "claiming a key"));
                }
                // The savepoint goes first, so that the caller's transaction is as it was.
                if let Err(undo) = point!("joined::begin", "undo", tx.rollback()).await {
                    tx.distrust();
                    return Err(fail(undo, "leaving a key that is locked"));
                }
                if super::is_held::<DB>(&error) {
                    call.wait_for_holder(call.site.wait).await?;
                } else if !pauses.for_lock::<DB>(&error).await {
                    return Err(fail(error, "claiming a key"));
                }
                continue;
            }
        };
        point!("joined::begin", "rollback", tx.rollback())
            .await
            .map_err(|error| fail(error, "leaving a taken key"))?;
        match record.map(|record| call.judge(record)).transpose()? {
            Some(Ruling::Replay(bytes)) => return Ok(Begun::Stored(call.stored(bytes))),
            Some(Ruling::Held(left)) => call.wait_for_holder(left).await?,
            Some(Ruling::Leftover { .. }) => return Err(left_by_a_lease(&call)),
            None => {
                looks += 1;
                if looks == LOOKS {
                    return Err(Error::OuterMustRetry {
                        key: call.shown(),
                        source: None,
                    });
                }
            }
        }
    }
}

/// A transaction that takes no savepoint has been aborted, and sqlx rolls it back on PostgreSQL: what
/// the caller writes next would commit by itself.
fn no_savepoint<DB: Backend>(call: &Call, error: sqlx::Error) -> Error {
    if DB::ONE_WRITER {
        return error.into_failed_joined::<DB>("opening a savepoint", call.shown());
    }
    Error::OuterLost {
        key: call.shown(),
        source: Some(error),
    }
}
