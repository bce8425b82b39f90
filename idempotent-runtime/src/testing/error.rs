//! Why the lab cannot judge a job.

use std::error::Error as StdError;
use std::fmt;

/// An error of the user's: what a world or a job fails with.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why the lab could not judge a job: it did not get as far as its trials, or its database failed.
///
/// `Debug` shows the same text as `Display`, with the causes: it is what a test that returns this
/// error prints.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The `world` closure failed.
    #[error("the world could not be made")]
    World(#[source] BoxError),

    /// The `world` closure made a world before, and failed at another one.
    #[error(
        "a world was made, and another one could not be: what outlives a world (a port, a file, a \
         `static`) is in the way of the next; make it anew in the closure of `.world(…)`"
    )]
    WorldAgain(#[source] BoxError),

    /// One undisturbed run of the job did not succeed, so there is nothing to compare with; the first
    /// one, or a later one.
    #[error("the job does not even succeed alone, in a fresh world, with nothing cut off: {0}")]
    Job(String),

    /// One undisturbed run of the job left nothing that the lab can see.
    #[error(
        "one run of the job changed no row, and nothing that `.observe(…)` shows: no difference could \
         ever be found; let the world hold what the job works on, and observe what it does outside"
    )]
    NoEffect,

    /// Two undisturbed runs in two fresh worlds do not leave the same.
    #[error(
        "two undisturbed runs in two fresh worlds do not leave the same, so a difference would prove \
         nothing; name the columns that may differ (times, random ids) with `.ignore_columns([…])`, \
         and leave them out of what `.observe(…)` shows:\n{0}"
    )]
    NotReproducible(String),

    /// What is observed changes by itself.
    #[error(
        "`.observe(…)` shows another thing when it is asked twice with nothing done in between, so a \
         difference would prove nothing; let it count what the job has done outside, without times and \
         counters of its own, and let nothing in the world go on by itself:\n{0}"
    )]
    ObserveChanges(String),

    /// A column that `ignore_columns` names does not exist.
    #[error("`.ignore_columns([…])` names `{0}`, and no table of the world has such a column")]
    NoSuchColumn(String),

    /// An attempt that is over still holds connections: something that outlives it has them.
    #[error(
        "a connection of an attempt that has ended, or was cut off, was not given back: a task that the \
         job spawned, or something in the world, still holds it, and would have died with the process; \
         await it in the job, or keep it out of the lab"
    )]
    ConnectionKept,

    /// The lab's own database failed.
    #[error("the lab's database failed while {doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// What the database said.
        #[source]
        source: BoxError,
    },
}

impl LabError {
    /// For `map_err`.
    pub(super) fn database<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Database {
            doing,
            source: source.into(),
        }
    }
}

impl fmt::Debug for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_words(self))
    }
}

/// An error and its causes, without what one has already said of the other.
pub(super) fn in_words(error: &dyn StdError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_returns_the_error_prints_it_with_its_causes() {
        let inner = LabError::World("no such table: orders".into());
        let error = LabError::Database {
            doing: "trying",
            source: Box::new(inner),
        };
        assert_eq!(
            format!("{error:?}"),
            "the lab's database failed while trying: the world could not be made: no such table: \
             orders"
        );
    }
}
