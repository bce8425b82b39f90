//! What guards and conditions may return.
//!
//! One trait for each place in which they stand: the error is then reported once, at the path in
//! the attribute, and in the words of that place. `E` is a parameter and not an associated type, for
//! a projection that has no value is reported a second time.

/// What `guard = …` returns: `Result<bool, E>` (`true`: the work is done), or
/// `Result<Option<bool>, E>` (`None`: there is no such record).
#[diagnostic::on_unimplemented(
    message = "a guard cannot return `{Self}`",
    label = "expected `Result<bool, _>` or `Result<Option<bool>, _>`",
    note = "a guard reads the database, which can fail: it returns `Result<bool, _>`, where `true` means \"already done\", or `Result<Option<bool>, _>`, where `None` means that there is no such record"
)]
pub trait GuardAnswer<E> {
    #[doc(hidden)]
    fn verdict(self) -> Result<Verdict, E>;
}

/// What `skip_if = …` returns: `Result<bool, E>` (`true`: skip), or `Result<Option<bool>, E>`.
#[diagnostic::on_unimplemented(
    message = "a condition cannot return `{Self}`",
    label = "expected `Result<bool, _>` or `Result<Option<bool>, _>`",
    note = "a condition reads the database, which can fail: it returns `Result<bool, _>`, where `true` means \"skip\", or `Result<Option<bool>, _>`, where `None` does too"
)]
pub trait ConditionAnswer<E> {
    #[doc(hidden)]
    fn verdict(self) -> Result<Verdict, E>;
}

/// What `guard = …` returns beside `existing = …`, and without `missing`: `Result<bool, E>`.
#[diagnostic::on_unimplemented(
    message = "a guard beside `existing` cannot return `{Self}`",
    label = "expected `Result<bool, _>`",
    note = "with `existing`, the job has an answer wherever its guard says `true`; if its record may be missing, say so: `#[idempotent(…, missing)]`"
)]
pub trait CertainAnswer<E> {
    #[doc(hidden)]
    fn verdict(self) -> Result<Verdict, E>;
}

/// What `existing = …` returns: `Result<T, E>`, with the job's own `T`.
#[diagnostic::on_unimplemented(
    message = "`existing` cannot return `{Self}`",
    label = "expected `Result<{T}, _>`",
    note = "what is loaded is the job's answer, and so of the job's own type"
)]
pub trait ExistingAnswer<T, E> {
    #[doc(hidden)]
    fn loaded(self) -> Result<T, E>;
}

/// What `reconcile = …` returns: `Result<Option<T>, E>`, with the job's own `T`.
#[diagnostic::on_unimplemented(
    message = "`reconcile` cannot return `{Self}`",
    label = "expected `Result<Option<{T}>, _>`",
    note = "`Some` is the answer of an attempt that did the work, and so of the job's own type; `None` says that none did"
)]
pub trait LookUpAnswer<T, E> {
    #[doc(hidden)]
    fn found(self) -> Result<Option<T>, E>;
}

/// How what the attribute's functions fail with becomes the job's own error: by `From`.
#[diagnostic::on_unimplemented(
    message = "the error `{E}` of this function cannot become the job's, `{Self}`",
    label = "no `From<{E}>` for `{Self}`",
    note = "a job returns what its guard fails with as its own error: add a variant for it, with thiserror's `#[from]`, or map the error in the function"
)]
pub trait FromAnswer<E>: Sized {
    #[doc(hidden)]
    fn from_answer(error: E) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<E>, E> FromAnswer<E> for T {
    fn from_answer(error: E) -> Self {
        error.into()
    }
}

/// What an answer means.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The guard says that the work is done, the condition that it is not wanted.
    Done,
    /// There is something to do.
    NotYet,
    /// There is no such record.
    Missing,
}

// The traits are implemented through these, for all types at once and not recommended: below its
// message, the compiler would otherwise quote the implementations here.

#[diagnostic::do_not_recommend]
impl<R: sealed::Answer<E>, E> GuardAnswer<E> for R {
    fn verdict(self) -> Result<Verdict, E> {
        #[cfg(feature = "failpoints")]
        if crate::failpoint::guard_is_not_asked_again() {
            return Ok(Verdict::Done);
        }
        self.read()
    }
}

#[diagnostic::do_not_recommend]
impl<R: sealed::Answer<E>, E> ConditionAnswer<E> for R {
    fn verdict(self) -> Result<Verdict, E> {
        self.read()
    }
}

#[diagnostic::do_not_recommend]
impl<R: sealed::Certain<E>, E> CertainAnswer<E> for R {
    fn verdict(self) -> Result<Verdict, E> {
        self.read()
    }
}

#[diagnostic::do_not_recommend]
impl<R: sealed::IsResult<T, E>, T, E> ExistingAnswer<T, E> for R {
    fn loaded(self) -> Result<T, E> {
        self.result()
    }
}

#[diagnostic::do_not_recommend]
impl<R: sealed::IsResult<Option<T>, E>, T, E> LookUpAnswer<T, E> for R {
    fn found(self) -> Result<Option<T>, E> {
        self.result()
    }
}

mod sealed {
    use super::Verdict;

    pub trait IsResult<T, E> {
        fn result(self) -> Result<T, E>;
    }

    impl<T, E> IsResult<T, E> for Result<T, E> {
        fn result(self) -> Self {
            self
        }
    }

    pub trait Answer<E> {
        fn read(self) -> Result<Verdict, E>;
    }

    impl<E> Answer<E> for Result<bool, E> {
        fn read(self) -> Result<Verdict, E> {
            self.map(known)
        }
    }

    impl<E> Answer<E> for Result<Option<bool>, E> {
        fn read(self) -> Result<Verdict, E> {
            self.map(|answer| answer.map_or(Verdict::Missing, known))
        }
    }

    pub trait Certain<E>: Answer<E> {}
    impl<E> Certain<E> for Result<bool, E> {}

    fn known(answer: bool) -> Verdict {
        if answer {
            Verdict::Done
        } else {
            Verdict::NotYet
        }
    }
}
