//! Transactional jobs between their claim and their end.

use super::TransactionalRun;
use crate::dialect::{Backend, Violated};
use crate::error::Error;
use crate::ledger::call::Ended;
use crate::ledger::failed::IntoFailed as _;
use crate::ledger::record::{Finish, Finished, Standing};
use crate::ledger::{doubt, is_done_by};
use crate::observe;
use crate::outcome::Skip;
use crate::watch::Watch;

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
    async fn already(&mut self, violated: Option<Violated>) -> Option<Skip> {
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

    /// What the attribute's constraint says of the body: of its error, where it failed, or of what is
    /// checked late.
    pub async fn constraint(
        &mut self,
        failed: Option<Option<Violated>>,
    ) -> Result<Option<Skip>, Error> {
        match failed {
            Some(violated) => Ok(self.already(violated).await),
            None => self.deferred().await,
        }
    }

    /// Lets deferred constraints speak before the guard and the completion.
    async fn deferred(&mut self) -> Result<Option<Skip>, Error> {
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
        self.call.site.learn(false);
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
                doubt(store, &claim, why).await
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
            if is_done_by(store, &self.call).await {
                observe::performed(&self.call.span);
                return Ok(());
            }
        }
        observe::failed(&self.call.span);
        Err(error)
    }
}
