//! What only MySQL and MariaDB do: implicit commits, whole transactions undone by a deadlock, names
//! of constraints without their table, engines.

use std::process::ExitCode;

use idempotent_tests::mysql as db;
use idempotent_tests::{runner, world};

mod cancelled;
mod deadlocks;
mod escapes;
mod joined;
mod names;
mod sessions;
mod setup;
mod storm;
mod waits;
mod words;

fn main() -> ExitCode {
    let cases = [
        cancelled::cases(),
        deadlocks::cases(),
        escapes::cases(),
        joined::cases(),
        names::cases(),
        sessions::cases(),
        setup::cases(),
        storm::cases(),
        waits::cases(),
    ];
    runner::main(db::SERVER, cases.into_iter().flatten().collect())
}
