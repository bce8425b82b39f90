//! Claims of leased jobs, and takeovers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::time::Instant;

use super::claim::LeasedClaim;
use crate::dialect::Backend;
use crate::error::Error;
use crate::gate::Entry;
use crate::held::Held;
use crate::ledger::call::{Begun, Call};
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::is_held;
use crate::ledger::judge::Ruling;
#[cfg(feature = "failpoints")]
use crate::ledger::mutant;
use crate::ledger::record::{FIRST, Holder};
use crate::ledger::release::Asked;
use crate::ledger::transactional::read;
use crate::observe;
use crate::retry::alone;
use crate::store::Store;

/// Claims the key, or finds what an earlier attempt left.
pub(crate) async fn begin<DB: Backend>(
    call: Call,
    store: Store<DB>,
) -> Result<Begun<LeasedClaim<DB>>, Error> {
    store.ready().await?;
    let writes = Arc::new(AtomicBool::new(false));
    let held = Held::enter(
        &call.key,
        || call.shown(),
        call.site.name,
        Some(store.id()),
        false,
        Arc::clone(&writes),
    )?;
    let mut pass = None;
    let mut read_first = call.site.replay_is_likely();
    loop {
        if pass.is_none() && !read_first {
            match store.gate().enter(&call.key, call.deadline).await {
                Entry::First(first) => pass = Some(first),
                // Another call of this process has just let go of the key.
                Entry::After => read_first = true,
                Entry::Late => return Err(call.busy(call.site.wait)),
            }
        }
        let lease = call.site.lease;
        let mut attempt = None;
        if !read_first {
            let (mut tx, _writer) = store.write_connection(call.deadline).await?;
            let claimed_at = Instant::now();
            let claim = call.claim(false);
            let asked = Asked::of(&call, &store, FIRST);
            let leased = alone!(
                DB,
                call.lock_deadline(),
                tx,
                point!("leased::begin", "lease", DB::lease(tx.on(), &claim, lease))
            );
            attempt = match asked.answer(leased) {
                Ok(attempt) => attempt.map(|attempt| (attempt, claimed_at)),
                Err(error) if is_held::<DB>(&error) => {
                    drop(tx);
                    call.wait_for_holder(call.site.wait).await?;
                    continue;
                }
                Err(error) => return Err(error.into_failed::<DB>("claiming a key")),
            };
        }
        if attempt.is_none() {
            read_first = false;
            let mut conn = store.connection().await?;
            let record = point!("leased::begin", "read", read(&mut conn, &call)).await?;
            drop(conn);
            if without!("the second SELECT") {
                return Err(call.busy(call.site.wait));
            }
            let Some(record) = record else { continue };
            #[cfg(feature = "failpoints")]
            mutant::seize(&store, &call, &record).await?;
            match call.judge(record)? {
                Ruling::Replay(bytes) => return Ok(Begun::Stored(call.stored(bytes))),
                Ruling::Held(left) => {
                    call.wait_for_holder(left).await?;
                    read_first = true;
                }
                // Only behind the gate, as every other claim.
                Ruling::Leftover { .. } if pass.is_none() => {}
                Ruling::Leftover { fence, age } => {
                    if let Some(window) = call.site.key_window
                        && age > window
                        && !call.site.reconciles
                    {
                        return Err(Error::KeyWindowPassed {
                            key: call.shown(),
                            age,
                            window,
                        });
                    }
                    let (mut tx, _writer) = store.write_connection(call.deadline).await?;
                    let claimed_at = Instant::now();
                    let claim = call.claim(false);
                    let asked = Asked::of(&call, &store, fence + 1);
                    let answer = alone!(
                        DB,
                        call.lock_deadline(),
                        tx,
                        point!(
                            "leased::begin",
                            "take-over",
                            DB::take_over(tx.on(), &claim, lease, fence)
                        )
                    );
                    attempt = asked
                        .answer(answer)
                        .map_err(|error| error.into_failed::<DB>("taking over a key"))?
                        .map(|attempt| (attempt, claimed_at));
                    // Somebody else was faster.
                    read_first = attempt.is_none();
                }
            }
        }
        if let Some((attempt, claimed_at)) = attempt
            && let Some(pass) = pass.take()
        {
            observe::claimed(&call.span, attempt.number);
            let mut claim = LeasedClaim {
                holder: Holder {
                    owner: call.owner,
                    fence: attempt.fence,
                },
                call,
                store,
                attempt,
                held,
                writes,
                ended: AtomicBool::new(false),
                claimed_at,
                _pass: pass,
            };
            // The database may have read its clock before a wait: the lease is as old as the question.
            if claimed_at.elapsed() > lease / 2 {
                claim.renew().await?;
            }
            return Ok(Begun::Run(claim));
        }
    }
}
