//! The page "Compiler errors" says what the compiler says, and nothing else.

use idempotent_tests::diagnostics::{catalogue, page, wrong_use};

fn written() -> String {
    std::fs::read_to_string(page::path()).expect("the page is there")
}

#[test]
fn the_page_is_not_stale() {
    let meant = page::text(&catalogue::topics(), &wrong_use::all());
    assert!(
        written() == meant,
        "write it anew: cargo run -p idempotent-tests --bin catalogue -- --write-page"
    );
}

#[test]
fn each_error_is_on_the_page() {
    let page = written();
    let tests = wrong_use::all();
    assert!(!tests.is_empty());
    for test in &tests {
        let said = test.said.as_ref().expect("a .stderr");
        assert!(!said.errors.is_empty(), "{}: no error", test.name);
        for told in &said.errors {
            let message = page::message(told);
            assert!(page.contains(&message), "{}: {message}", test.name);
        }
    }
}

#[test]
fn each_error_on_the_page_is_said() {
    let tests = wrong_use::all();
    let said = tests.iter().filter_map(|test| test.said.as_ref());
    let lines: Vec<String> = said
        .flat_map(|said| &said.errors)
        .flat_map(|told| {
            page::message(told)
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let page = written();
    // The first block shows the job that the names are of.
    let blocks = page.split("```text\n").skip(2);
    let shown = blocks.map(|block| block.split("\n```").next().expect("an end"));
    for line in shown.flat_map(str::lines).filter(|line| !line.is_empty()) {
        assert!(
            lines.iter().any(|said| said == line),
            "nothing says: {line}"
        );
    }
}
