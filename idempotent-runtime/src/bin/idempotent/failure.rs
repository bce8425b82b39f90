//! How the command fails, and its exit codes.

use std::error::Error as StdError;
use std::process::ExitCode;

use idempotent_runtime::Error;

/// Why the command did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("no database is named: say `--database URL`, or set DATABASE_URL")]
    NoDatabase,
    #[error(
        "this is no URL of a database that this command was built for ({})",
        crate::database::schemes()
    )]
    UnknownDatabase,
    #[error("the URL of the database is not understood")]
    BadUrl(#[source] sqlx::Error),
    #[error("the database cannot be reached")]
    Unreachable(#[source] sqlx::Error),
    #[error("there is no key `{0}`")]
    NoSuchKey(String),
    #[error("nothing was done")]
    Declined,
    #[error("the result is not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("reading the standard input failed")]
    Input(#[source] std::io::Error),
    #[error("writing the output failed")]
    Output(#[from] std::io::Error),
    #[error(transparent)]
    Store(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// Says what went wrong, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        // A reader that has gone away (`| head`) is told nothing.
        if let Self::Output(error) = self
            && error.kind() == std::io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        eprint!("error: {self}");
        let mut source = self.source();
        while let Some(error) = source {
            eprint!(": {error}");
            source = error.source();
        }
        eprintln!();
        ExitCode::from(self.code())
    }

    fn code(&self) -> u8 {
        match self {
            Self::NoDatabase | Self::UnknownDatabase | Self::BadUrl(_) | Self::NotJson(_) => 2,
            Self::NoSuchKey(_) => 3,
            Self::Declined | Self::Store(Error::NotResolvable { .. }) => 4,
            _ => 1,
        }
    }
}
