//! What a caller may pass to a job.

use std::fmt;

use sqlx::{Database, Transaction};

use crate::dialect::{Backend, ConnectionTo, LedgerConnection};
use crate::held::StoreId;
use crate::job::{Job, JobBackend};
use crate::store::{Options, Store};

type DbOf<C> = <C as LedgerConnection>::Backend;

/// What a transactional job runs in: a store, or a transaction of the caller's.
///
/// - `&Store`, `Store`: in a transaction of its own.
/// - `&mut Transaction`, `&mut Connection`: in a savepoint of the caller's transaction, committed
///   when the caller commits. (A connection in no transaction gets one of its own.)
/// - [`store.within(&mut tx)`](Store::within): the same, with the store's options.
#[diagnostic::on_unimplemented(
    message = "a transactional job cannot run in `{Self}`",
    label = "pass a store, or an open transaction",
    note = "pass `&store` (a `Store` on the job's database; `Store::new(pool)` makes one), or `&mut tx` to join a transaction of yours"
)]
pub trait Within<'a, C: LedgerConnection>: fmt::Debug + Send + sealed::Within<'a, C> {}

/// What a leased job runs on: a store, by value or by reference.
#[diagnostic::on_unimplemented(
    message = "a leased job cannot run in `{Self}`",
    label = "pass a store",
    note = "a leased job reaches outside the database, so it cannot join a transaction: pass `&store` (a `Store` on the job's database)"
)]
pub trait IntoStore<J: JobBackend>: fmt::Debug + Send + sealed::IntoStore<J> {}

/// A caller's transaction with a store's options; made by [`Store::within`].
pub struct WithinTx<'a, DB: Database> {
    pub(crate) conn: &'a mut DB::Connection,
    pub(crate) options: Options,
    pub(crate) store: Option<StoreId>,
}

impl<DB: Database> fmt::Debug for WithinTx<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithinTx")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Where a transactional job is to run.
pub enum Place<'a, DB: Backend> {
    /// In a transaction of its own.
    Store(Store<DB>),
    /// On a connection of the caller's.
    Conn(WithinTx<'a, DB>),
}

impl<'a, DB: Backend> Place<'a, DB> {
    pub(crate) fn options(&self) -> Options {
        match self {
            Self::Store(store) => store.options(),
            Self::Conn(within) => within.options,
        }
    }

    fn conn(conn: &'a mut DB::Connection) -> Self {
        Self::Conn(WithinTx {
            conn,
            options: Options::default(),
            store: None,
        })
    }
}

mod sealed {
    use super::{DbOf, Place};
    use crate::dialect::LedgerConnection;
    use crate::job::JobBackend;
    use crate::store::Store;

    pub trait Within<'a, C: LedgerConnection> {
        fn place(self) -> Place<'a, DbOf<C>>;
    }

    pub trait IntoStore<J: JobBackend> {
        fn into_store(self) -> Store<J::Backend>;
    }
}

macro_rules! within {
    ($([$($generics:tt)*] $ty:ty, $bound:path; $self:ident => $place:expr;)*) => {$(
        // The message says what can be passed; the list of these would name their parameters.
        #[diagnostic::do_not_recommend]
        impl<'a, $($generics)* C> Within<'a, C> for $ty where C: LedgerConnection + $bound {}

        impl<'a, $($generics)* C> sealed::Within<'a, C> for $ty
        where
            C: LedgerConnection + $bound,
        {
            fn place($self) -> Place<'a, DbOf<C>> {
                $place
            }
        }
    )*};
}

within! {
    [DB: Backend,] Store<DB>, ConnectionTo<DB>; self => Place::Store(C::store(self));
    ['s, DB: Backend,] &'s Store<DB>, ConnectionTo<DB>; self => Place::Store(C::store(self.clone()));
    [] &'a mut C, Sized; self => Place::conn(self);
    ['t, DB: Backend,] &'a mut Transaction<'t, DB>, ConnectionTo<DB>; self => {
        Place::conn(<C as ConnectionTo<DB>>::conn(&mut **self))
    };
    [DB: Backend,] WithinTx<'a, DB>, ConnectionTo<DB>; self => Place::Conn(WithinTx {
        conn: <C as ConnectionTo<DB>>::conn(self.conn),
        options: self.options,
        store: self.store,
    });
}

macro_rules! into_store {
    ($($ty:ty: $self:ident => $store:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<DB: Backend> IntoStore<Job<'_, DB>> for $ty {}

        impl<'j, DB: Backend> sealed::IntoStore<Job<'j, DB>> for $ty {
            fn into_store($self) -> Store<<Job<'j, DB> as JobBackend>::Backend> {
                $store
            }
        }
    )*};
}

into_store! {
    Store<DB>: self => self;
    &Store<DB>: self => self.clone();
}
