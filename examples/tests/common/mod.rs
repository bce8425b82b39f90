//! The shop and the small programs, run as a person would run them, and what has to come of it.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Where cargo puts examples: beside the folder of the test programs.
pub fn example(name: &str) -> Command {
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

pub fn shop(args: &[&str]) -> Output {
    example("shop").args(args).output().expect("the shop runs")
}

/// Runs a small shop: each effect has to be there exactly once, and workers to have been killed.
/// Gives what it said on the way.
pub fn each_effect_once(place: &[&str]) -> String {
    let run = shop(&[place, &["--jobs", "2", "--seed", "7"]].concat());
    let table = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}\n{table}\n{errors}", run.status);

    assert_eq!(line(&table, "effects in the database"), [6; 4], "{table}");
    assert_eq!(line(&table, "charges at the gateway"), [6], "{table}");
    assert_eq!(line(&table, "distinct Message-IDs"), [6], "{table}");
    // The first cut of every task is at a point that it is sure to pass.
    let kills = line(&table, "kills");
    assert!(kills.iter().all(|&kills| kills >= 2), "{table}");
    for title in ["replayed", "skipped"] {
        let counts = line(&table, title);
        assert!(counts.iter().all(|&count| count > 0), "{table}");
    }
    errors.into_owned()
}

/// Runs a small shop without the attribute: it has to show the damage. Gives what it
/// said on the way.
pub fn effects_twice(place: &[&str]) -> String {
    let run = shop(&[place, &["--naive", "--jobs", "2", "--seed", "7"]].concat());
    let table = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}\n{table}\n{errors}", run.status);

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
    errors.into_owned()
}

/// Has orders fulfilled by workers that are killed at each place: each has to be reserved, charged,
/// shipped and closed once, and only what was cut off before its record is asked for again. Gives
/// what it said on the way.
pub fn each_order_once(place: &[&str]) -> String {
    let run = example("fulfil").args(place).output();
    let run = run.expect("the program runs");
    let table = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}\n{table}\n{errors}", run.status);

    let places = [
        ("before the first step", [1, 1], "performed"),
        ("reserved, not committed", [1, 1], "performed"),
        ("between reserve and charge", [1, 1], "performed"),
        ("charged, not recorded", [2, 1], "performed"),
        ("between charge and ship", [1, 1], "performed"),
        ("shipped, not recorded", [1, 2], "performed"),
        ("after the last step", [1, 1], "performed"),
        ("closed, not committed", [1, 1], "performed"),
        ("done, nobody told", [1, 1], "replayed"),
    ];
    for (place, asked, retry) in places {
        let counts = [[1; 4].as_slice(), &asked].concat();
        assert_eq!(line(&table, place), counts, "{place}: {table}");
        let mut lines = table.lines().filter(|line| line.contains(place));
        assert!(
            lines.all(|line| line.trim_end().ends_with(retry)),
            "{place}: {table}"
        );
    }
    assert!(
        table.contains("9 pieces off the shelf for 9 orders\none effect each\n"),
        "{table}"
    );
    errors.into_owned()
}

/// Runs a program that has to end well, and to say this, in this order.
pub fn says(program: &mut Command, wanted: &[&str]) {
    let run = program.output().expect("the program runs");
    let said = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{program:?}: {said}\n{errors}");
    let mut rest = &*said;
    for words in wanted {
        let at = rest.find(words);
        rest = &rest[at.unwrap_or_else(|| panic!("{program:?}: no {words} in\n{said}"))..];
    }
}

/// The counts of a line of the table; jobs without any are left out.
pub fn line(table: &str, title: &str) -> Vec<u64> {
    let line = table
        .lines()
        .find(|line| line.trim_start().starts_with(title));
    let line = line.unwrap_or_else(|| panic!("no line {title:?} in\n{table}"));
    let counts = line.split_whitespace().filter_map(|word| word.parse().ok());
    counts.collect()
}
