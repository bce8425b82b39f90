//! Runs the shop as a person would, but smaller.
//!
//! `cargo test` builds the examples first; with `--test shop` alone, build them
//! with `cargo build --examples`. `shop_on_servers` does the same where there are servers.

mod common;

use common::{each_effect_once, effects_twice, example, says, shop};

#[test]
fn every_effect_is_there_exactly_once() {
    each_effect_once(&[]);
}

#[test]
fn jobs_without_the_attribute_double_their_effects() {
    effects_twice(&[]);
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
        (
            "checkout_api",
            &[
                "400 Idempotency-Key is missing",
                "200 {",
                "200 (idempotent-replayed: true)",
                "422",
                "409 (retry-after: ",
            ],
        ),
        (
            "any_database",
            &[
                "Performed(\"paid on SQLite\")",
                "Replayed(\"paid on SQLite\")",
                "Skipped(Missing)",
            ],
        ),
    ];
    for (name, outcomes) in cases {
        says(&mut example(name), outcomes);
    }
}

#[test]
fn wrong_input_gives_one_clear_error() {
    for (args, status, says) in [
        (["--jobs", "0"], 2, "--jobs"),
        (["--db", "/"], 1, "cannot open"),
        (["--frobnicate", "1"], 2, "--frobnicate"),
        (["--database", "oracle://here"], 2, "postgres://"),
        (["--database", "mysql://127.0.0.1:1"], 1, "cannot make"),
    ] {
        let run = shop(&args);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(status), "{errors}");
        assert!(errors.contains(says), "{errors}");
    }
}
