//! The functions that the attribute names: how they are called, before their answers are read.
//!
//! The expansion calls them directly, so that lifetimes and `Send` are what the user's own types
//! make them; but it gets at the function, and at its future, through these traits. Where one is
//! not what it should be, the compiler then says so once, at its path in the attribute, and has no
//! type left to report anything else about.
//!
//! `How` is never said. It is there so that each trait has a second implementation to try, which
//! never holds: the only one would be taken for granted, and what it lacks be reported instead.

/// A function that takes the connection (for `reconcile`, the job), and the arguments that the
/// attribute gives it.
#[diagnostic::on_unimplemented(
    message = "this function does not take `{Args}`",
    label = "expected an `async fn` that takes `{Args}`",
    note = "it reads persistent storage: the connection is its first parameter (of `reconcile = …`, the job)",
    note = "after that come the key's placeholders, in their order and by value; `guard = paid(order_id)` names other arguments"
)]
pub trait Takes<Args, How>: Sized {
    #[doc(hidden)]
    type Function;
    #[doc(hidden)]
    fn function(self) -> Self::Function;
}

/// A future, as an `async fn` returns one.
#[diagnostic::on_unimplemented(
    message = "this function is not `async`: it returns `{Self}`",
    label = "expected an `async fn`",
    note = "what the attribute names reads the database, and is awaited: write `async fn`"
)]
pub trait Awaited<How> {
    #[doc(hidden)]
    type Future;
    #[doc(hidden)]
    fn future(self) -> Self::Future;
}

/// As it should be.
#[doc(hidden)]
#[derive(Debug)]
pub struct Well;

/// The implementation that never holds.
#[doc(hidden)]
#[derive(Debug)]
pub struct NotAtAll;

mod sealed {
    pub trait Never {}
}

macro_rules! takes {
    ($($name:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<Fun, Out, $($name),*> Takes<($($name,)*), Well> for Fun
        where
            Fun: FnOnce($($name),*) -> Out,
        {
            type Function = Self;

            fn function(self) -> Self {
                self
            }
        }
    };
}

takes!(C);
takes!(C A1);
takes!(C A1 A2);
takes!(C A1 A2 A3);
takes!(C A1 A2 A3 A4);
takes!(C A1 A2 A3 A4 A5);
takes!(C A1 A2 A3 A4 A5 A6);
takes!(C A1 A2 A3 A4 A5 A6 A7);
takes!(C A1 A2 A3 A4 A5 A6 A7 A8);

#[diagnostic::do_not_recommend]
impl<Fun: sealed::Never, Args> Takes<Args, NotAtAll> for Fun {
    type Function = Self;

    fn function(self) -> Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<F: Future> Awaited<Well> for F {
    type Future = Self;

    fn future(self) -> Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<F: sealed::Never> Awaited<NotAtAll> for F {
    type Future = Self;

    fn future(self) -> Self {
        self
    }
}
