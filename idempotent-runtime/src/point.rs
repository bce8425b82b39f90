//! Where a build for the proof can be made to fail: see `failpoint`, which only such a build has.

/// Awaits what talks to the database, between a point before it and one after it.
#[cfg(feature = "failpoints")]
macro_rules! point {
    ($place:literal, $what:literal, $work:expr) => {
        $crate::failpoint::between(
            concat!($place, "::before-", $what),
            concat!($place, "::after-", $what),
            $work,
        )
    };
}

/// Awaits what talks to the database: in this build, just that.
#[cfg(not(feature = "failpoints"))]
macro_rules! point {
    ($place:literal, $what:literal, $work:expr) => {
        $work
    };
}

/// Whether a rule of the protocol is left out, to see that the proof would notice.
#[cfg(feature = "failpoints")]
macro_rules! without {
    ($rule:literal) => {
        $crate::failpoint::without($rule)
    };
}

/// No rule of the protocol can be left out in this build.
#[cfg(not(feature = "failpoints"))]
macro_rules! without {
    ($rule:literal) => {
        false
    };
}
