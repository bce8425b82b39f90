//! Transactional jobs: claim, guard, body, guard and completion in one transaction.

use super::call::{Begun, Call, Ended};
use super::failed::IntoFailed as _;
use super::joined;
use super::judge::Ruling;
use super::record::{Claim, Claimed, Finish, Finished, Record, Standing};
use crate::dialect::{Backend, Begin, Fault, Violated};
use crate::error::Error;
use crate::gate::{Entry, Pass};
use crate::held::Held;
use crate::observe;
use crate::outcome::Skip;
use crate::store::{Store, Writer};
use crate::tx::Tx;
use crate::watch::Watch;
use crate::within::Place;

/// How often a claim may give way before its caller is told: it has done nothing yet.
const MAY_GIVE_WAY: u32 = 8;

/// A transactional job between its claim and its completion. Dropped, it undoes everything.
pub struct TransactionalRun<'a, DB: Backend> {
    pub(super) call: Call,
    // Before what lets others go: the rollback is sent first.
    pub(super) tx: Tx<'a, DB>,
    pub(super) token: DB::Token,
    pub(super) held: Held,
    pub(super) joined: bool,
    pub(super) store: Option<Store<DB>>,
    pub(super) _pass: Option<Pass>,
    pub(super) _writer: Writer,
}

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
    let (mut reserved, mut gave_way) = (false, 0);
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
            reserved,
            ..call.claim(false)
        };
        let Some(claimed) = super::claim_in_time(&mut tx, &claim).await else {
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
                if super::is_held::<DB>(&error) {
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

pub(super) async fn read<DB: Backend>(
    tx: &mut Tx<'_, DB>,
    call: &Call,
) -> Result<Option<Record>, Error> {
    DB::read(tx.on(), call.key.as_str())
        .await
        .map_err(|error| error.into_failed::<DB>("reading a key"))
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
pub(super) fn left_by_a_lease(call: &Call) -> Error {
    Error::InDoubt {
        key: call.shown(),
        why:
            "a leased attempt of this job was left unfinished, and the job is a transactional one \
              now"
            .to_owned(),
    }
}

impl<DB: Backend> TransactionalRun<'_, DB> {
    /// The connection whose transaction completes the key.
    pub fn conn(&mut self) -> &mut DB::Connection {
        self.tx.conn()
    }

    /// What the body's first parameter gets.
    pub fn first(&mut self) -> &mut DB::Connection {
        self.tx.conn()
    }

    /// Runs the body as one that holds its key.
    #[must_use]
    pub fn watch(&self) -> Watch<DB> {
        Watch::unleased(self.held.clone(), self.call.span.clone())
    }

    /// The unique constraint that an error's chain reports, if any.
    #[must_use]
    pub fn violation(
        &self,
        mut error: Option<&(dyn std::error::Error + 'static)>,
    ) -> Option<Violated> {
        while let Some(link) = error {
            if let Some(violated) = DB::violated(link) {
                return Some(violated);
            }
            error = link.source();
        }
        None
    }

    /// Whether a violated constraint is the attribute's; if so, the body's writes are undone.
    pub async fn already(&mut self, violated: Option<Violated>) -> Option<Skip> {
        let (violated, unique) = (violated?, self.call.site.unique?);
        if let Err(problem) = point!(
            "transactional::already",
            "undo",
            DB::undo_body(self.tx.on(), &self.call.claim(self.joined))
        )
        .await
        {
            observe::not_undone(&self.call.span, "undoing the body's writes", &problem);
            return None;
        }
        let violated = match point!(
            "transactional::already",
            "describe",
            DB::describe(self.tx.on(), violated, &unique)
        )
        .await
        {
            Ok(violated) => violated,
            Err(problem) => {
                observe::not_undone(&self.call.span, "looking up a constraint", &problem);
                return None;
            }
        };
        unique.is(&violated).then(|| Skip::Unique {
            constraint: violated.to_string(),
        })
    }

    /// Lets deferred constraints speak before the guard and the completion.
    pub async fn deferred(&mut self) -> Result<Option<Skip>, Error> {
        let Err(error) = point!(
            "transactional::deferred",
            "check",
            DB::check_deferred(self.tx.on())
        )
        .await
        else {
            return Ok(None);
        };
        let violated = self.violation(Some(&error));
        match self.already(violated).await {
            Some(skip) => Ok(Some(skip)),
            None => Err(self.failed_while("checking deferred constraints", error)),
        }
    }

    /// The error for a body that succeeded and did not leave its mark.
    #[must_use]
    pub fn unmet(&self) -> Error {
        Error::GuardUnmet {
            key: self.call.shown(),
            job: self.call.site.name.to_owned(),
            guard: self.call.site.guard,
        }
    }

    /// Leaves no key behind: there was nothing to do.
    pub async fn skip(mut self) -> Result<Ended, Error> {
        self.undo().await;
        Ok(Ended(self.call.span))
    }

    /// Undoes everything, and gives the error back.
    pub async fn fail<E>(mut self, error: E) -> E {
        observe::failed(&self.call.span);
        self.call.site.learn(false);
        let claim = self.call.claim(self.joined);
        let ours = point!(
            "transactional::fail",
            "check",
            DB::still_ours(self.tx.on(), &claim, Some(&self.token))
        )
        .await;
        match ours {
            Ok(Standing::Open) => self.undo().await,
            // The savepoint of a joined job went with the caller's transaction, which its own end
            // finds out.
            Ok(Standing::Undone) if self.joined => self.tx.distrust(),
            Ok(Standing::Undone) => self.undo().await,
            Ok(Standing::Escaped) => drop(self.escaped().await),
            Err(problem) => {
                observe::not_undone(&self.call.span, "undoing the body's writes", &problem);
                self.tx.distrust();
            }
        }
        error
    }

    async fn undo(&mut self) {
        if let Err(problem) = point!("transactional::undo", "rollback", self.tx.rollback()).await {
            observe::not_undone(&self.call.span, "undoing the body's writes", &problem);
            self.tx.distrust();
        }
    }

    /// Records the result, and commits it with everything that the job wrote.
    pub async fn complete(mut self, result: Vec<u8>) -> Result<(), Error> {
        let limit = self.call.options.result_limit;
        if result.len() > limit {
            let error = self.call.too_large(result.len(), limit);
            return Err(self.fail(error).await);
        }
        let finish = Finish {
            result: &result,
            retain: self.call.site.retain,
        };
        let claim = self.call.claim(self.joined);
        match point!(
            "transactional::complete",
            "finish",
            DB::finish(self.tx.on(), &claim, &self.token, &finish)
        )
        .await
        {
            Ok(Finished::Done) => {}
            Ok(Finished::Escaped | Finished::Lost) => return Err(self.escaped().await),
            Ok(Finished::TooLarge(limit)) => {
                let error = self.call.too_large(result.len(), limit);
                return Err(self.fail(error).await);
            }
            Err(error) => {
                let error = self.failed_while("completing a key", error);
                observe::failed(&self.call.span);
                self.undo().await;
                return Err(error);
            }
        }
        if let Err(error) = point!("transactional::complete", "commit", self.tx.commit()).await {
            return self.unknown(error).await;
        }
        self.call.site.learn(false);
        observe::performed(&self.call.span);
        Ok(())
    }

    fn failed_while(&self, doing: &'static str, error: sqlx::Error) -> Error {
        if self.joined {
            error.into_failed_joined::<DB>(doing, self.call.shown())
        } else {
            error.into_failed::<DB>(doing)
        }
    }

    /// The body ended the transaction: what it wrote may be committed or not, and nobody but a
    /// person can tell. The connection is closed, and the key marked on another one.
    async fn escaped(&mut self) -> Error {
        observe::escaped(&self.call.span);
        let claim = self.call.claim(false);
        let why = "its body ended the transaction that it was given";
        let marked = match &self.store {
            Some(store) => {
                self.tx.distrust();
                self._writer = None;
                super::doubt(store, &claim, why).await
            }
            // The caller's connection is the only one there is. What the body may have begun on it
            // would take the mark along.
            None if !self.joined => {
                let _ = point!("transactional::doubt", "rollback", self.tx.rollback()).await;
                point!(
                    "transactional::doubt",
                    "mark",
                    DB::doubt(self.tx.on(), &claim, why)
                )
                .await
                .map(|()| observe::doubted(claim.job))
                .map_err(|error| error.into_failed::<DB>("marking a key as in doubt"))
            }
            None => {
                self.tx.distrust();
                return Error::OuterLost {
                    key: self.call.shown(),
                    source: None,
                };
            }
        };
        self.tx.distrust();
        match marked {
            Ok(()) => Error::TransactionEscaped {
                key: self.call.shown(),
            },
            Err(error) => error,
        }
    }

    /// A commit that failed may have committed: the row tells.
    async fn unknown(mut self, error: sqlx::Error) -> Result<(), Error> {
        self.tx.distrust();
        let error = self.failed_while("committing a key", error);
        if let (Some(store), false) = (&self.store, self.joined) {
            self._writer = None;
            if super::is_done_by(store, &self.call).await {
                observe::performed(&self.call.span);
                return Ok(());
            }
        }
        observe::failed(&self.call.span);
        Err(error)
    }
}

impl<DB: Backend> std::fmt::Debug for TransactionalRun<'_, DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransactionalRun")
            .field("key", &self.call.shown())
            .finish_non_exhaustive()
    }
}
