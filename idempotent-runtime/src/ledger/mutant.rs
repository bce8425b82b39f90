//! What the protocol would do without some of its rules; only in a build for the proof.

use super::call::Call;
use super::failed::IntoFailed as _;
use super::record::{Holder, Record};
use crate::dialect::Backend;
use crate::error::Error;
use crate::failpoint::without;
use crate::store::Store;
use crate::tx::Tx;

/// Ends another attempt's lease: what a claim would come to that asks its own process only.
pub(super) async fn seize<DB: Backend>(
    store: &Store<DB>,
    call: &Call,
    record: &Record,
) -> Result<(), Error> {
    if !without("the gate's database half") {
        return Ok(());
    }
    let holder = Holder {
        owner: record.owner.clone().try_into().unwrap_or_default(),
        fence: record.fence,
    };
    let (mut tx, _writer) = store.write_connection(call.deadline).await?;
    DB::release(tx.on(), call.key.as_str(), &holder, "seized")
        .await
        .map(drop)
        .map_err(|error| error.into_failed::<DB>("seizing a key"))
}

/// The holder that a completion shows where only the fence counts: whoever it is.
pub(super) async fn holder<DB: Backend>(
    tx: &mut Tx<'_, DB>,
    call: &Call,
    holder: Holder,
) -> Holder {
    if !without("the owner check") {
        return holder;
    }
    match DB::read(tx.on(), call.key.as_str()).await {
        Ok(Some(record)) => Holder {
            owner: record.owner.try_into().unwrap_or_default(),
            ..holder
        },
        _ => holder,
    }
}
