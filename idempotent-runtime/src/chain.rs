//! The `source()` chain of a job's error, in which `unique = …` looks for the violated constraint.
//!
//! An error shows its chain by being an `Error` itself, or by giving one out (`anyhow`, a boxed
//! error). No one bound says "this or that", so the expansion calls a method `links`, and the
//! compiler takes the first of three traits that has it: each of them is a reference further away.

use std::error::Error as StdError;

use crate::asked::{NotAtAll, Well};

/// What `links` found: a chain, or an error that shows none.
///
/// `How` is never said; it is there for what [`Takes`](crate::Takes) has it for: a second
/// implementation to try.
#[diagnostic::on_unimplemented(
    message = "the error `{E}` does not show what it came from",
    label = "not a `std::error::Error`",
    note = "`unique = …` finds the violated constraint in the error's `source()` chain: implement `std::error::Error` for it (thiserror's `#[derive(Error)]` does, with `#[from]` or `#[source]` on the database's error), or use `anyhow::Error`"
)]
pub trait Chained<E, How> {
    #[doc(hidden)]
    type Chain;
    #[doc(hidden)]
    fn chain(self) -> Self::Chain;
}

#[diagnostic::do_not_recommend]
impl<L: sealed::Links, E> Chained<E, Well> for L {
    type Chain = Self;

    fn chain(self) -> Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<L: sealed::Never, E> Chained<E, NotAtAll> for L {
    type Chain = Self;

    fn chain(self) -> Self {
        self
    }
}

mod sealed {
    pub trait Never {}

    pub trait Links {}

    impl Links for Option<super::Link<'_>> {}
}

type Link<'a> = &'a (dyn StdError + 'static);

/// A job's error, to be asked for its `links`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Chain<'a, E>(pub &'a E);

#[doc(hidden)]
pub trait ChainOfError<'a> {
    fn links(self) -> Option<Link<'a>>;
}

impl<'a, E: StdError + 'static> ChainOfError<'a> for &&Chain<'a, E> {
    fn links(self) -> Option<Link<'a>> {
        Some(self.0)
    }
}

#[doc(hidden)]
pub trait ChainOfAsRef<'a> {
    fn links(self) -> Option<Link<'a>>;
}

impl<'a, E> ChainOfAsRef<'a> for &Chain<'a, E>
where
    E: AsRef<dyn StdError + Send + Sync + 'static>,
{
    fn links(self) -> Option<Link<'a>> {
        Some(self.0.as_ref())
    }
}

/// Neither: the error itself comes back, which is not [`Chained`].
#[doc(hidden)]
pub trait NoChain<'a> {
    type Error;
    fn links(self) -> &'a Self::Error;
}

impl<'a, E> NoChain<'a> for Chain<'a, E> {
    type Error = E;

    fn links(self) -> &'a E {
        self.0
    }
}
