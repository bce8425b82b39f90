//! A transaction that cannot be left open by accident.
//!
//! sqlx 0.9's own `Transaction` has four holes that matter here. A `begin` whose future is dropped
//! while the server answers hands the pool a connection that is inside a transaction, so that a
//! later "autocommit" write is lost (sqlx issue 4393); here a connection is closed unless its begin
//! was seen to end. A `begin` of a savepoint that is dropped so rolls back the whole transaction on
//! PostgreSQL, and what the caller writes next commits by itself; here it only leaves a savepoint. A
//! `commit` of a savepoint that is dropped goes back to an older savepoint of its name, and undoes
//! what was kept since; see `keep` below. And a connection whose body ended the transaction by raw SQL cannot be taken out of a
//! `Transaction` to be closed; here it can.

use std::mem::ManuallyDrop;

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Pool, SqlSafeStr, SqlStr};
use sqlx_core::transaction::{
    TransactionManager as _, begin_ansi_transaction_sql, commit_ansi_transaction_sql,
};

use crate::dialect::{Backend, On};

/// A transaction, or a savepoint, that rolls back when dropped.
pub(crate) struct Tx<'a, DB: Backend> {
    link: Link<'a, DB>,
    /// Each transaction may have another session of the server.
    pooled: bool,
    state: State,
}

enum Link<'a, DB: Backend> {
    Pooled(PoolConnection<DB>),
    Outer(&'a mut DB::Connection),
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A begin is under way: whether the server has begun is not known.
    Beginning,
    /// A statement is under way whose trace must not reach the next user of the connection.
    Unsettled,
    Open,
    Ended,
}

impl<DB: Backend> Tx<'static, DB> {
    /// A connection of the pool's, in no transaction yet.
    pub(crate) async fn acquire(pool: &Pool<DB>, pooled: bool) -> sqlx::Result<Self> {
        Ok(Self {
            link: Link::Pooled(point!("tx", "acquire", pool.acquire()).await?),
            pooled,
            state: State::Ended,
        })
    }
}

impl<'a, DB: Backend> Tx<'a, DB> {
    /// A connection of the caller's.
    pub(crate) fn outer(conn: &'a mut DB::Connection, pooled: bool) -> Self {
        Self {
            link: Link::Outer(conn),
            pooled,
            state: State::Ended,
        }
    }

    /// Begins: with `statement`, or a savepoint where there is none.
    pub(crate) async fn begin(&mut self, statement: Option<SqlStr>) -> sqlx::Result<()> {
        self.state = State::Beginning;
        // SQLite's worker undoes a begin that nobody waits for, and waits for whoever does: a future
        // that is kept, and not polled, would hold it for ever.
        let begun = if statement.is_some() || DB::ONE_WRITER {
            DB::TransactionManager::begin(self.conn(), statement).await
        } else {
            // What sqlx does when this future is dropped must not be done, so it is not dropped
            // before its end: a cut leaks a few hundred bytes.
            let begin = DB::TransactionManager::begin(self.conn(), None);
            let mut begin = ManuallyDrop::new(Box::pin(begin));
            let begun = begin.as_mut().await;
            drop(ManuallyDrop::into_inner(begin));
            begun
        };
        // An error may have come after the server's BEGIN; a `Locked` one comes instead of it on
        // the databases where a begin can wait.
        match &begun {
            Ok(()) => self.state = State::Open,
            Err(_) if DB::ONE_WRITER => self.state = State::Ended,
            Err(_) => {}
        }
        begun
    }

    /// Whether the connection is inside a transaction that sqlx knows of.
    pub(crate) fn is_nested(&mut self) -> bool {
        DB::TransactionManager::get_transaction_depth(self.conn()) > 0
    }

    pub(crate) fn conn(&mut self) -> &mut DB::Connection {
        match &mut self.link {
            Link::Pooled(conn) => conn,
            Link::Outer(conn) => conn,
            Link::Closed => unreachable!("a closed connection is not used again"),
        }
    }

    /// The connection, for a statement of ours.
    pub(crate) fn on(&mut self) -> On<'_, DB> {
        let pooled = self.pooled;
        On {
            conn: self.conn(),
            pooled,
        }
    }

    /// Ends a statement on its own, which is in a transaction where it could not be sent without.
    pub(crate) async fn end_statement(&mut self) -> sqlx::Result<()> {
        match self.state {
            State::Open => self.commit().await,
            _ => Ok(()),
        }
    }

    pub(crate) async fn commit(&mut self) -> sqlx::Result<()> {
        // SQLite's own worker knows whether a commit that nobody waits for was carried out.
        if !DB::ONE_WRITER && DB::TransactionManager::get_transaction_depth(self.conn()) > 1 {
            return self.keep().await;
        }
        DB::TransactionManager::commit(self.conn()).await?;
        self.state = State::Ended;
        Ok(())
    }

    /// Keeps what was written since the savepoint. Dropped at any await, the caller's transaction has
    /// that or not, and in any case all that came before.
    ///
    /// A drop can only go back to the savepoint. So before it is released for good, another one of
    /// its name takes its place, and going back to that undoes nothing.
    async fn keep(&mut self) -> sqlx::Result<()> {
        let conn = self.conn();
        let depth = DB::TransactionManager::get_transaction_depth(conn);
        let release = commit_ansi_transaction_sql(depth);
        let replace = format!(
            "{}; {}",
            release.as_str(),
            begin_ansi_transaction_sql(depth - 1).as_str()
        );
        DB::run_raw(conn, AssertSqlSafe(replace).into_sql_str()).await?;
        // The only way to take a savepoint off sqlx's count that nothing can cut.
        DB::TransactionManager::start_rollback(conn);
        self.state = State::Ended;
        DB::run_raw(self.conn(), release).await
    }

    pub(crate) async fn rollback(&mut self) -> sqlx::Result<()> {
        DB::TransactionManager::rollback(self.conn()).await?;
        self.state = State::Ended;
        Ok(())
    }

    /// From here on, a drop closes the connection: it holds what only its end lets go.
    pub(crate) fn unsettle(&mut self) {
        self.state = State::Unsettled;
    }

    /// A statement of no transaction is about to be sent. Where sqlx cannot go on with a connection on
    /// which one was cut off, a drop before its answer closes it: in the pool, it would be waited for
    /// without an end.
    pub(crate) fn sending(&mut self) {
        if !DB::CUTS_CLEANLY && self.state == State::Ended && matches!(self.link, Link::Pooled(_)) {
            self.state = State::Unsettled;
        }
    }

    /// What was unsettled has ended, or been answered: the connection can be used by others again.
    pub(crate) fn settle(&mut self) {
        if self.state == State::Unsettled {
            self.state = State::Ended;
        }
    }

    /// Closes a connection that cannot be trusted; the server undoes what it left open. A caller's
    /// connection cannot be closed, only rolled back.
    pub(crate) fn distrust(&mut self) {
        match std::mem::replace(&mut self.link, Link::Closed) {
            Link::Pooled(conn) => drop(conn.detach()),
            // Where the savepoint is not there any more, the caller's next statement fails for it, and
            // the caller's transaction is found out to be gone. It is always sent, for sqlx counts it:
            // one savepoint too many on the count, and the caller's own rollback would go back to
            // that one, and hand the pool an open transaction.
            Link::Outer(conn) if self.state == State::Open => {
                DB::TransactionManager::start_rollback(conn);
            }
            Link::Outer(_) | Link::Closed => {}
        }
        self.state = State::Ended;
    }
}

impl<DB: Backend> Drop for Tx<'_, DB> {
    fn drop(&mut self) {
        match self.state {
            State::Ended => {}
            State::Open if !DB::CUTS_CLEANLY && matches!(self.link, Link::Pooled(_)) => {
                self.distrust();
            }
            State::Open => DB::TransactionManager::start_rollback(self.conn()),
            // SQLite's own worker undoes a begin that nobody waits for.
            State::Beginning if DB::ONE_WRITER => {}
            State::Beginning | State::Unsettled => self.distrust(),
        }
    }
}

impl<DB: Backend> std::fmt::Debug for Tx<'_, DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
