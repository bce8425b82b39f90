//! The commands of `docs/operators.md`, run in a shell, one after another, on a ledger as the page
//! has it: what the page shows is what the command says.
//!
//! In a block that is marked `console`, a line that begins with `$` is a command, and what follows is
//! what it prints. `…` in it stands for anything within a line; a line that is only `…`, for any lines.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use idempotent_runtime::{Error, Job, Outcome, Sqlite, idempotent};
use idempotent_tests::world::{World, eventually};
use sqlx::SqliteConnection;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

const PAGE: &str = include_str!("../../docs/operators.md");

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Idempotent(#[from] Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the card was declined")]
    Declined,
}

/// A gateway that answers when it may.
struct Gateway(Semaphore);

#[idempotent(key = "order_<order_id>", lease = 30s)]
async fn charge_payment(
    job: &mut Job<'_, Sqlite>,
    gateway: &Gateway,
    order_id: i64,
    cents: i64,
) -> Result<String, Failure> {
    let reserved: Result<String, Failure> = job
        .step("reserve", async |key| Ok(format!("r_{key}")))
        .await?;
    reserved?;
    if cents > 100_000 {
        return Err(Failure::Declined);
    }
    let _permit = gateway.0.acquire().await;
    Ok(format!("ch_{order_id}"))
}

/// Ends the transaction that it was given, as a job may not.
#[idempotent(key = "import_<batch>")]
async fn import_orders(conn: &mut SqliteConnection, batch: i64) -> Result<i64, Failure> {
    sqlx::raw_sql("COMMIT").execute(conn).await?;
    Ok(batch)
}

#[idempotent(key = "report_<day>", retain = 30d)]
async fn daily_report(_: &mut SqliteConnection, day: &str) -> Result<usize, Failure> {
    Ok(day.len())
}

/// The ledger of the page: an order that is paid, one that is being paid, one that failed, an import
/// in doubt, a report that is kept and one that is due.
async fn ledger(world: &World<Sqlite>) -> JoinHandle<()> {
    let open = Gateway(Semaphore::new(1));
    let store = &world.store;
    let _ = charge_payment(store, &open, 41, 4100).await.expect("paid");
    let failed = charge_payment(store, &open, 43, 430_000).await;
    assert!(matches!(failed, Err(Failure::Declined)), "{failed:?}");
    let escaped = import_orders(store, 7).await;
    assert!(escaped.is_err(), "{escaped:?}");
    for day in ["2026-10-01", "2026-11-29"] {
        let Outcome::Performed(_) = daily_report(store, day).await.expect("a report") else {
            panic!("{day} was reported before")
        };
    }
    world.end_retention("report_2026-10-01").await;
    let (store, closed) = (store.clone(), Arc::new(Gateway(Semaphore::new(0))));
    let running = tokio::spawn(async move {
        let _ = charge_payment(&store, &closed, 42, 4200).await;
    });
    eventually("the charge is claimed", async || {
        world.rows("order_42").await == 1
    })
    .await;
    running
}

#[tokio::test]
async fn the_page_shows_what_the_command_says() {
    let world = World::<Sqlite>::fresh().await;
    let running = ledger(&world).await;
    // The command, under its own name.
    let bin = tempfile::tempdir().expect("a folder");
    let command = Path::new(env!("CARGO_BIN_EXE_idempotent-under-test"));
    std::os::unix::fs::symlink(command, bin.path().join("idempotent")).expect("a link");

    let examples = examples(PAGE);
    for Example {
        line,
        command,
        says,
    } in &examples
    {
        let said = shell(command, bin.path(), &world.url).await;
        assert!(
            matches(
                &says.lines().collect::<Vec<_>>(),
                &said.lines().collect::<Vec<_>>()
            ),
            "docs/operators.md:{line}\n$ {command}\nis to say:\n{says}\nand says:\n{said}"
        );
    }

    // Every subcommand is on the page.
    let help = shell("idempotent --help", bin.path(), &world.url).await;
    let (_, commands) = help.split_once("Commands:\n").expect("commands");
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().expect("a name");
        let shown = examples
            .iter()
            .any(|example| example.command.contains(&format!("idempotent {name}")));
        assert!(shown || name == "help", "`{name}` is not on the page");
    }
    running.abort();
    world.end().await;
}

struct Example<'a> {
    line: usize,
    command: &'a str,
    says: String,
}

fn examples(page: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let mut console = false;
    for (number, line) in page.lines().enumerate() {
        if let Some(fence) = line.strip_prefix("```") {
            console = fence == "console";
        } else if let (true, Some(command)) = (console, line.strip_prefix("$ ")) {
            examples.push(Example {
                line: number + 1,
                command,
                says: String::new(),
            });
        } else if console {
            let last = examples.last_mut().expect("a command comes first");
            last.says += line;
            last.says.push('\n');
        }
    }
    assert!(examples.len() > 10, "the page has no commands");
    examples
}

/// Runs the command as a person would, and gives all that it says.
async fn shell(command: &str, bin: &Path, url: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec 2>&1; {command}")])
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("DATABASE_URL", url)
        .stdin(Stdio::null());
    let ran = tokio::task::spawn_blocking(move || shell.output()).await;
    let ran = ran.expect("no panic").expect("a shell");
    String::from_utf8(ran.stdout).expect("text")
}

/// Whether what was said is what was to be said.
fn matches(wanted: &[&str], said: &[&str]) -> bool {
    match wanted {
        [] => said.is_empty(),
        ["…", rest @ ..] => (0..=said.len()).any(|from| matches(rest, &said[from..])),
        [line, rest @ ..] => match said {
            [first, others @ ..] => line_matches(line, first) && matches(rest, others),
            [] => false,
        },
    }
}

/// How wide a column is depends on what stands in it: spaces count as one.
fn line_matches(wanted: &str, said: &str) -> bool {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = wanted.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = said.strip_prefix(first) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        open = part.is_empty();
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    open || rest.is_empty()
}

#[test]
fn what_differs_from_the_page_is_noticed() {
    for (wanted, said, right) in [
        ("KEY STATE", "KEY   STATE", true),
        ("order_42  …  running", "order_42 3s running", true),
        ("kept until …", "kept until tomorrow", true),
        ("kept until …", "kept", false),
        ("… ago)", "3s ago) or more", false),
        ("order_42", "order_42 running", false),
        ("order_42", "order_43", false),
    ] {
        assert_eq!(line_matches(wanted, said), right, "{wanted}: {said}");
    }
    assert!(matches(&["a", "…", "d"], &["a", "b", "c", "d"]));
    assert!(!matches(&["a", "…", "d"], &["a", "b", "c"]));
    assert!(!matches(&["a"], &["a", "b"]));
    assert!(!matches(&["a"], &[]));
}
