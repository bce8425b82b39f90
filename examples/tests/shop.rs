//! Runs the shop as a person would, but smaller.
//!
//! `cargo test` builds the examples first; with `--test shop` alone, build them
//! with `cargo build --examples`.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Where cargo puts examples: beside the folder of the test programs.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test program has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("it is in target/<profile>/deps");
    let path: PathBuf = profile
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.is_file(),
        "{} is not built: cargo build --examples",
        path.display()
    );
    Command::new(path)
}

fn shop(args: &[&str]) -> Output {
    example("shop").args(args).output().expect("the shop runs")
}

/// The counts of a line of the table; jobs without any are left out.
fn line(table: &str, title: &str) -> Vec<u64> {
    let line = table
        .lines()
        .find(|line| line.trim_start().starts_with(title));
    let line = line.unwrap_or_else(|| panic!("no line {title:?} in\n{table}"));
    let counts = line.split_whitespace().filter_map(|word| word.parse().ok());
    counts.collect()
}

#[test]
fn every_effect_is_there_exactly_once() {
    let run = shop(&["--jobs", "2", "--seed", "7"]);
    let table = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}\n{table}\n{errors}", run.status);

    assert_eq!(
        line(&table, "effects in the database"),
        [6, 6, 6, 6],
        "{table}"
    );
    assert_eq!(line(&table, "charges at the gateway"), [6], "{table}");
    assert_eq!(line(&table, "distinct Message-IDs"), [6], "{table}");
    // The first cut of every task is at a point that it is sure to pass.
    assert!(
        line(&table, "kills").iter().all(|&kills| kills >= 2),
        "{table}"
    );
    assert!(
        line(&table, "replayed")
            .iter()
            .all(|&replayed| replayed > 0),
        "{table}"
    );
    assert!(
        line(&table, "skipped").iter().all(|&skipped| skipped > 0),
        "{table}"
    );
}

#[test]
fn jobs_without_the_attribute_double_their_effects() {
    let run = shop(&["--naive", "--jobs", "2", "--seed", "7"]);
    let table = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{table}");

    // Killed between the charge and the mark, then tried again: two charges, however the rest went.
    let [charges] = line(&table, "charges at the gateway")[..] else {
        panic!("{table}")
    };
    assert!(charges >= 8, "{table}");
    let last = table.lines().last().expect("a last line");
    assert!(
        last.starts_with("naive: ") && !last.starts_with("naive: 0 "),
        "{last}"
    );
    assert!(last.contains("(0 one after another"), "{last}");
}

/// What each small program prints, but for what an error is made of.
#[test]
fn the_small_programs_say_what_their_comments_say() {
    let cases = [
        (
            "send_welcome_email",
            [
                "Performed(\"<welcome_1@",
                "Replayed(\"<welcome_1@",
                "Skipped(Guard)",
                "Skipped(Missing)",
            ]
            .as_slice(),
        ),
        (
            "charge_payment",
            &[
                "charged order_42, but",
                "Performed(\"charge of order_42\")",
                "Replayed(\"charge of order_42\")",
            ],
        ),
        (
            "create_invoice",
            &["Performed(8)", "Replayed(8)", "Skipped(Unique"],
        ),
        (
            "provision_account",
            &["Performed(1)", "Replayed(1)", "Skipped(Missing)"],
        ),
    ];
    for (name, outcomes) in cases {
        let run = example(name).output().expect("the example runs");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success(),
            "{name}: {said}\n{}",
            String::from_utf8_lossy(&run.stderr)
        );
        let mut rest = &*said;
        for outcome in outcomes {
            let at = rest.find(outcome);
            rest = &rest[at.unwrap_or_else(|| panic!("{name}: no {outcome} in\n{said}"))..];
        }
    }
}

#[test]
fn wrong_input_gives_one_clear_error() {
    for (args, status, says) in [
        (["--jobs", "0"], 2, "--jobs"),
        (["--db", "/"], 1, "cannot open"),
        (["--frobnicate", "1"], 2, "--frobnicate"),
    ] {
        let run = shop(&args);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(status), "{errors}");
        assert!(errors.contains(says), "{errors}");
    }
}
