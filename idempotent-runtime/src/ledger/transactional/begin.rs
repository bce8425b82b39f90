//! Claims of transactional jobs.

use super::TransactionalRun;
use crate::dialect::{Backend, Begin, Fault};
use crate::error::Error;
use crate::gate::Entry;
use crate::held::Held;
use crate::ledger::call::{Begun, Call};
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::judge::Ruling;
use crate::ledger::record::{Claim, Claimed, Record};
use crate::ledger::{claim_in_time, is_held, joined};
use crate::observe;
use crate::store::Store;
use crate::tx::Tx;
use crate::within::Place;

/// How often a claim may give way before its caller is told: it has done nothing yet.
const MAY_GIVE_WAY: u32 = 8;

/// Claims the key in the place that the caller gave.
pub(crate) async fn begin<'a, DB: Backend>(
    call: Call,
    place: Place<'a, DB>,
) -> Result<Begun<TransactionalRun<'a, DB>>, Error> {
    match place {
        Place::Store(store) => begin_own(call, store).await,
        Place::Conn(within) => joined::begin(call, within).await,
    }
}

async fn begin_own<'a, DB: Backend>(
    call: Call,
    store: Store<DB>,
) -> Result<Begun<TransactionalRun<'a, DB>>, Error> {
    store.ready().await?;
    let held = Held::enter(
        &call.key,
        || call.shown(),
        call.site.name,
        Some(store.id()),
        false,
        Held::writing(DB::ONE_WRITER),
    )?;
    let mut pass = None;
    let mut read_first = call.site.replay_is_likely();
    let (mut in_turn, mut reserved, mut gave_way) = (false, false, 0);
    loop {
        if pass.is_none() && !read_first {
            match store.gate().enter(&call.key, call.deadline).await {
                Entry::First(first) => pass = Some(first),
                // Another call of this process has just let go of the key.
                Entry::After => read_first = true,
                Entry::Late => return Err(call.busy(call.site.wait)),
            }
        }
        if read_first {
            read_first = false;
            let mut conn = store.connection().await?;
            let record =
                point!("transactional::begin", "read-first", read(&mut conn, &call)).await?;
            drop(conn);
            if let Some(record) = record {
                match rule(&call, record).await? {
                    Some(bytes) => return Ok(Begun::Stored(call.stored(bytes))),
                    None => read_first = true,
                }
            }
            continue;
        }
        let how = Begin {
            mark: call.site.unique.is_some(),
        };
        let (mut tx, writer) = point!(
            "transactional::begin",
            "begin",
            store.begin_write(how, call.deadline)
        )
        .await?;
        let claim = Claim {
            in_turn,
            reserved,
            ..call.claim(false)
        };
        let Some(claimed) = claim_in_time(&mut tx, &claim).await else {
            tx.distrust();
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
                    joined: false,
                    store: Some(store),
                    _pass: pass,
                    _writer: writer,
                }));
            }
            Ok(Claimed::Taken(Some(record))) => Some(record),
            Ok(Claimed::Taken(None)) => {
                point!("transactional::begin", "read", read(&mut tx, &call)).await?
            }
            Err(error) => {
                if point!("transactional::begin", "undo", tx.rollback())
                    .await
                    .is_err()
                {
                    tx.distrust();
                }
                drop((tx, writer));
                if is_held::<DB>(&error) {
                    call.wait_for_holder(call.site.wait).await?;
                } else if DB::fault(&error) == Fault::GaveWay && gave_way < MAY_GIVE_WAY {
                    gave_way += 1;
                    reserved = reserve(&store, &call).await?;
                } else {
                    return Err(error.into_failed::<DB>("claiming a key"));
                }
                continue;
            }
        };
        point!("transactional::begin", "rollback", tx.rollback())
            .await
            .map_err(|error| error.into_failed::<DB>("leaving a taken key"))?;
        drop((tx, writer));
        if without!("the second SELECT") {
            return Err(call.busy(call.site.wait));
        }
        if let Some(record) = record {
            match rule(&call, record).await? {
                Some(bytes) => return Ok(Begun::Stored(call.stored(bytes))),
                None => read_first = true,
            }
        } else if call.left().is_zero() {
            // Claimed, undone, claimed again by others, whenever this call looked.
            return Err(call.busy(call.site.wait));
        } else {
            in_turn = true;
        }
    }
}

/// Puts down a row for a claim that had to give way, on a connection of its own; `false` where that
/// has to give way too.
async fn reserve<DB: Backend>(store: &Store<DB>, call: &Call) -> Result<bool, Error> {
    let mut conn = store.connection().await?;
    match point!(
        "transactional::begin",
        "reserve",
        DB::reserve(conn.on(), &call.claim(false))
    )
    .await
    {
        Ok(()) => Ok(true),
        Err(error) if matches!(DB::fault(&error), Fault::Locked | Fault::GaveWay) => Ok(false),
        Err(error) => Err(error.into_failed::<DB>("reserving a key")),
    }
}

pub(in crate::ledger) async fn read<DB: Backend>(
    tx: &mut Tx<'_, DB>,
    call: &Call,
) -> Result<Option<Record>, Error> {
    tx.sending();
    let record = DB::read(tx.on(), call.key.as_str()).await;
    tx.settle();
    record.map_err(|error| error.into_failed::<DB>("reading a key"))
}

/// The result to replay, or nothing where the key has to be looked at again.
async fn rule(call: &Call, record: Record) -> Result<Option<Vec<u8>>, Error> {
    match call.judge(record)? {
        Ruling::Replay(bytes) => Ok(Some(bytes)),
        Ruling::Held(left) => {
            // The row of this job from when it was a leased one.
            call.wait_for_holder(left).await?;
            Ok(None)
        }
        Ruling::Leftover { .. } => Err(left_by_a_lease(call)),
    }
}

/// A leased attempt may have reached the outside world before it was left.
pub(in crate::ledger) fn left_by_a_lease(call: &Call) -> Error {
    Error::InDoubt {
        key: call.shown(),
        why:
            "a leased attempt of this job was left unfinished, and the job is a transactional one \
              now"
            .to_owned(),
    }
}
