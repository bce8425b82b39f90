//! The page "Compiler errors": each message, why it is said, and what to write.
//!
//! It is written from the catalogue and the `.stderr` files, so that it says what the compiler
//! says; `cargo run -p idempotent-tests --bin catalogue -- --write-page` writes it anew.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::catalogue::{Row, Topic};
use super::file;
use super::wrong_use::{Told, WrongUse};

const HEAD: &str = "\
What the compiler says of a job that is used wrong, why, and what to write.

Each message stands on your own code, and says how to write it right; here is why. The names in it
are those of this job:

```text
#[idempotent(key = \"order_<order_id>\", guard = paid)]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure>
```

Messages with a code, such as `error[E0277]`, are the compiler's; where the code is another, so are
the words.
";

/// Where the page is.
#[must_use]
pub fn path() -> PathBuf {
    file("../idempotent-runtime/src/docs/compiler_errors.md")
}

/// The page as it should be.
#[must_use]
pub fn text(topics: &[Topic], wrong_uses: &[WrongUse]) -> String {
    let mut page = HEAD.to_owned();
    for topic in topics {
        let _ = write!(page, "\n# {}\n", topic.title);
        for row in &topic.rows {
            let _ = write!(page, "\n## {}\n\n```text\n", row.title);
            page.push_str(&messages(row, wrong_uses).join("\n\n"));
            let _ = write!(page, "\n```\n\n{}\n\n**The fix:** {}\n", row.why, row.fix);
        }
    }
    page
}

/// What the row's tests say, each once.
fn messages(row: &Row, wrong_uses: &[WrongUse]) -> Vec<String> {
    let mut messages = Vec::new();
    for shown in &row.shown {
        let test = wrong_uses.iter().find(|test| test.name == shown.test);
        let said = test.and_then(|test| test.said.as_ref());
        for told in said.into_iter().flat_map(|said| &said.errors) {
            let message = message(told);
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
    }
    messages
}

/// A message as the page has it.
#[must_use]
pub fn message(told: &Told) -> String {
    let mut lines = vec![told.first_line()];
    lines.extend(told.help.iter().cloned());
    if is_ours(told) {
        lines.extend(told.notes.iter().map(|note| format!("       note: {note}")));
    }
    // The tests share a module of their own.
    lines.join("\n").replace("idempotent_tests::ui::", "")
}

/// Whether the words are ours, and not the compiler's own.
fn is_ours(told: &Told) -> bool {
    told.code.as_ref().is_none_or(|code| code == "E0277")
}
