//! Being told to end, so that a run can clean up after itself.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

/// A Ctrl-C, or a polite request to end, drops the run, and with it the children.
pub async fn interruptible(run: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    #[cfg(unix)]
    let mut term = signal(SignalKind::terminate())?;
    #[cfg(unix)]
    let told_to_end = term.recv();
    #[cfg(not(unix))]
    let told_to_end = std::future::pending::<Option<()>>();
    tokio::select! {
        ended = run => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            say("interrupted");
            Ok(ExitCode::from(130))
        }
        _ = told_to_end => {
            say("told to end");
            Ok(ExitCode::from(143))
        }
    }
}

/// To whoever still listens: a terminal that is closed must not end the run before its end.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{}: {what}", env!("CARGO_BIN_NAME"));
}
