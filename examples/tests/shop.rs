//! Runs the shop as a person would, but smaller; and the other programs as they are.
//!
//! `cargo test` builds the examples first; with `--test shop` alone, build them
//! with `cargo build --examples`. `shop_on_servers` does the same where there are servers.

mod common;

use common::{each_effect_once, each_order_once, effects_twice, example, line, says, shop};

#[test]
fn every_effect_is_there_exactly_once() {
    each_effect_once(&[]);
}

#[test]
fn jobs_without_the_attribute_double_their_effects() {
    effects_twice(&[]);
}

/// All processes together: what each of its workers was left to tell.
#[test]
fn the_shop_prints_what_the_runtime_measured() {
    let run = shop(&["--metrics", "--jobs", "2", "--seed", "7"]);
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    let sample = |series: &str| -> f64 {
        let line = said.lines().find_map(|line| line.strip_prefix(series));
        let value = line.unwrap_or_else(|| panic!("no {series} in\n{said}"));
        value.trim().parse().expect("a number")
    };
    for (job, &performed) in ["charge_payment", "create_invoice"]
        .iter()
        .zip(&line(&said, "performed")[1..])
    {
        assert_eq!(
            sample(&format!("idempotent_keys{{job=\"{job}\",state=\"done\"}}")),
            6.0
        );
        let calls = format!("idempotent_calls_total{{job=\"{job}\",outcome=\"performed\"}}");
        // A worker that was killed before its caller heard has told, mostly.
        assert!((performed as f64..=6.0).contains(&sample(&calls)), "{said}");
        assert!(sample(&format!("idempotent_body_seconds_sum{{job=\"{job}\"}}")) > 0.0);
    }
    // Each of these was cut off between the effect and its completion, and taken over.
    assert!(sample("idempotent_takeovers_total{job=\"charge_payment\"}") >= 2.0);
    assert!(said.contains("# TYPE idempotent_keys gauge\n"), "{said}");
    let last = said.lines().last().expect("a last line");
    assert!(
        last.starts_with("every effect is there exactly once"),
        "{last}"
    );
}

#[test]
fn a_retry_goes_on_where_the_killed_worker_stopped() {
    each_order_once(&[]);
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
        (
            "late",
            &[
                "1. In time",
                "given ch_1; charges of order 1: 1\n",
                "2. Too late, and nobody looked",
                "charges of order 2: 2\n",
                "3. Too late: `key_window = 24h`",
                "the retry fails: an unfinished attempt of key `pay_3`",
                "the retry replays ch_4; charges of order 3: 1\n",
                "4. Too late again, but the request was lost",
                "the retry fails: an unfinished attempt of key `pay_4`",
                "the retry is given ch_5; charges of order 4: 1\n",
                "5. Too late, with `reconcile`",
                "answers ch_6; charges of order 5: 1\n",
                "6. The same, and there is no charge",
                "the retry is given ch_7; charges of order 6: 1\n",
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
    let run = example("fulfil")
        .args(["--database", "oracle://here"])
        .output();
    let run = run.expect("the program runs");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{errors}");
    assert!(errors.contains("postgres://"), "{errors}");
}
