//! `cargo run -p idempotent-tests --bin catalogue`: whether wrong use is told as the catalogue
//! asks. It prints one `name: value` a line, and fails unless all that should be zero is.
//!
//! With `-- --write-page`, it writes the page "Compiler errors" anew.

mod checks;

use std::process::ExitCode;

use idempotent_tests::diagnostics::{catalogue, page, wrong_use};

fn main() -> ExitCode {
    let topics = catalogue::topics();
    let tests = wrong_use::all();
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("--write-page") => {
            let written = std::fs::write(page::path(), page::text(&topics, &tests));
            return match written {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{} cannot be written: {error}", page::path().display());
                    ExitCode::FAILURE
                }
            };
        }
        Some(other) => {
            eprintln!("unknown argument `{other}`; there is `--write-page`, and no other");
            return ExitCode::FAILURE;
        }
    }

    let rows = topics.iter().map(|topic| topic.rows.len()).sum::<usize>();
    println!("rows: {rows}");
    println!("ui tests: {}", tests.len());
    let mut good = true;
    for check in checks::all(&topics, &tests) {
        println!("{}: {}", check.name, check.found.len());
        for found in &check.found {
            eprintln!("  {found}");
        }
        good &= check.found.is_empty();
    }
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
