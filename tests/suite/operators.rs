//! The operators' command, through its output, on a ledger with keys in every state.

use std::process::Stdio;

use idempotent_runtime::{Job, idempotent};
use idempotent_tests::terminal::Terminal;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::task::JoinHandle;

use super::business::{Failure, Gateway, charge, leave, note};
use crate::db::{Conn, Db};
use crate::world::{TestDatabase as _, World, eventually};

/// What a run of the command gave.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn json(&self) -> Value {
        assert_eq!((self.code, &*self.err), (0, ""));
        serde_json::from_str(&self.out).expect(&self.out)
    }

    fn keys(&self) -> Vec<String> {
        let keys = self.json();
        let keys = keys.as_array().expect("an array").iter();
        keys.map(|key| key["key"].as_str().unwrap().to_owned())
            .collect()
    }
}

async fn run(world: &World<Db>, args: &[&str]) -> Ran {
    answer(world, args, "").await
}

/// Runs the command with this on its standard input.
async fn answer(world: &World<Db>, args: &[&str], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_idempotent-under-test"))
        .args(args)
        .env("DATABASE_URL", &world.url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that reads nothing may be gone already.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = child.wait_with_output().await.expect("an end");
    Ran {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Finished at once, and due for a purge as soon.
#[idempotent(key = "short_<id>", retain = 1ms)]
async fn short(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    leave(conn, "short").await?;
    Ok(id)
}

/// Fails after a step.
#[idempotent(key = "fail_<id>", lease = 30s)]
async fn failing(job: &mut Job<'_, Db>, id: i64, amount: i64) -> Result<i64, Failure> {
    let step: Result<i64, Failure> = job.step("reserve", async |_| Ok(amount)).await?;
    Err(Failure::Refused(match step? {
        reserved if reserved > id => "too much",
        _ => "too little",
    }))
}

/// Ends its transaction, and leaves its key in doubt.
#[idempotent(key = "escape_<id>")]
async fn escaping(conn: &mut Conn, id: i64) -> Result<i64, Failure> {
    sqlx::raw_sql("COMMIT").execute(conn).await?;
    Ok(id)
}

/// A ledger with a done key, a running one, one in doubt, a lapsed and an expired one.
async fn mixed(world: &World<Db>) -> JoinHandle<()> {
    let _ = note(&world.store, "secret").await.unwrap();
    let _ = short(&world.store, 1).await.unwrap();
    world.end_retention("short_1").await;
    failing(&world.store, 1, 7777).await.unwrap_err();
    escaping(&world.store, 1).await.unwrap_err();
    let store = world.store.clone();
    let running = tokio::spawn(async move {
        let gateway = Gateway::held();
        let _ = charge(&store, &gateway, 42).await;
    });
    eventually("the charge is claimed", async || {
        world.rows("charge_42").await == 1
    })
    .await;
    running
}

async fn list_tells_the_states_apart(world: World<Db>) {
    let running = mixed(&world).await;
    let table = run(&world, &["list"]).await;
    assert_eq!(table.code, 0, "{}", table.err);
    let lines: Vec<Vec<&str>> = table
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["KEY", "JOB", "STATE", "ATTEMPTS", "AGE", "NOTE"]);
    let states: Vec<[&str; 4]> = lines[1..]
        .iter()
        .map(|cells| [cells[0], cells[1], cells[2], cells[3]])
        .collect();
    assert_eq!(
        states,
        [
            ["charge_42", "charge", "running", "1"],
            ["escape_1", "escaping", "in-doubt", "1"],
            ["fail_1", "failing", "lapsed", "1"],
            ["note_secret", "note", "done", "1"],
            ["short_1", "short", "expired", "1"],
        ]
    );
    assert!(table.out.contains("its body ended the transaction"));

    let json = run(&world, &["list", "--json"]).await.json();
    assert_eq!(json[0]["state"], "running");
    assert_eq!(json[0]["held_by"].as_str().unwrap().len(), 32);
    assert_eq!(json[3]["held_by"], Value::Null);
    assert_eq!(json[2]["inputs"], serde_json::json!(["amount"]));
    running.abort();
}

async fn list_filters(world: World<Db>) {
    let running = mixed(&world).await;
    world.age("note_secret").await;
    let listed = async |args: &[&str]| {
        let args = [&["list", "--json"], args].concat();
        run(&world, &args).await.keys()
    };
    assert_eq!(listed(&["--status", "in-doubt"]).await, ["escape_1"]);
    assert_eq!(
        listed(&["--status", "done", "--status", "expired"]).await,
        ["note_secret", "short_1"]
    );
    assert_eq!(listed(&["--job", "charge"]).await, ["charge_42"]);
    assert_eq!(listed(&["--job", "charg"]).await, [""; 0]);
    assert_eq!(listed(&["--prefix", "note_"]).await, ["note_secret"]);
    assert_eq!(listed(&["--older-than", "1d"]).await, ["note_secret"]);
    assert_eq!(listed(&["--newer-than", "1d"]).await.len(), 4);
    assert_eq!(
        listed(&["--after", "escape_1", "-n", "2"]).await,
        ["fail_1", "note_secret"]
    );
    let page = run(&world, &["list", "-n", "2"]).await;
    assert_eq!(page.err, "there may be more: add `--after \"escape_1\"`\n");
    running.abort();
}

async fn show_tells_all_but_results(world: World<Db>) {
    let running = mixed(&world).await;
    let shown = run(&world, &["show", "fail_1"]).await;
    assert_eq!((shown.code, &*shown.err), (0, ""));
    for line in [
        "job            failing",
        "state          lapsed",
        "attempts       1",
        "held by        nobody",
        "ended          failed",
        "inputs         amount",
    ] {
        assert!(shown.out.contains(line), "{line}: {}", shown.out);
    }
    assert!(shown.out.contains("\nSTEP") && shown.out.contains("\nreserve"));
    assert!(!shown.out.contains("7777"));

    let shown = run(&world, &["show", "charge_42"]).await;
    assert!(shown.out.contains(", fence 1\n") && shown.out.contains("\nlease until"));

    let shown = run(&world, &["show", "note_secret", "--json"]).await;
    assert!(!shown.out.contains("noted") && shown.json().get("result").is_none());
    running.abort();
}

async fn show_gives_results_when_asked(world: World<Db>) {
    let running = mixed(&world).await;
    let shown = run(&world, &["show", "note_secret", "--result"]).await;
    assert!(shown.out.contains("\"noted secret\""), "{}", shown.out);
    let json = run(&world, &["show", "note_secret", "--result", "--json"]).await;
    assert_eq!(json.json()["result"], "noted secret");
    let json = run(&world, &["show", "fail_1", "--result", "--json"]).await;
    assert_eq!(json.json()["steps"][0]["result"], 7777);
    assert_eq!(json.json()["result"], Value::Null);
    running.abort();
}

async fn stats_count_by_job(world: World<Db>) {
    let running = mixed(&world).await;
    failing(&world.store, 1, 7777).await.unwrap_err();
    let stats = run(&world, &["stats", "--json"]).await.json();
    let jobs = stats.as_array().unwrap();
    assert_eq!(jobs.len(), 5);
    let of = |name: &str| jobs.iter().find(|job| job["job"] == name).unwrap();
    assert_eq!(of("charge")["running"], 1);
    assert_eq!(of("escaping")["in_doubt"], 1);
    assert_eq!(
        (&of("failing")["lapsed"], &of("failing")["retried"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&of("note")["done"], &of("note")["expired"]),
        (&1.into(), &0.into())
    );
    assert!(of("note")["oldest_unfinished_seconds"].is_null());
    assert!(of("charge")["oldest_unfinished_seconds"].is_number());
    let table = run(&world, &["stats"]).await;
    assert!(table.out.starts_with("JOB "), "{}", table.out);
    running.abort();
}

async fn resolve_decides(world: World<Db>) {
    let running = mixed(&world).await;
    let done = run(
        &world,
        &[
            "resolve",
            "escape_1",
            "--complete",
            "340282366920938463463374607431768211455",
        ],
    )
    .await;
    assert_eq!((done.code, &*done.err), (0, ""));
    let shown = run(&world, &["show", "escape_1", "--result", "--json"]).await;
    assert!(
        shown
            .out
            .contains("\"result\": 340282366920938463463374607431768211455")
    );

    let again = run(&world, &["resolve", "fail_1", "--run-again"]).await;
    assert_eq!(again.out, "the next call runs `fail_1` again\n");

    let held = run(&world, &["resolve", "charge_42", "--run-again"]).await;
    assert_eq!(held.code, 4);
    assert!(
        held.err
            .starts_with("error: key `charge_42` cannot be resolved")
    );
    let unknown = run(&world, &["resolve", "nobody", "--run-again"]).await;
    assert_eq!(
        (unknown.code, &*unknown.err),
        (3, "error: there is no key `nobody`\n")
    );
    running.abort();
}

async fn a_result_can_come_from_the_standard_input(world: World<Db>) {
    escaping(&world.store, 5).await.unwrap_err();
    let done = answer(&world, &["resolve", "escape_5", "--complete", "-"], "5").await;
    assert_eq!((done.code, &*done.err), (0, ""));
    assert!(escaping(&world.store, 5).await.unwrap().is_replayed());
    let wrong = answer(&world, &["resolve", "escape_5", "--complete", "-"], "{").await;
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

async fn forget_asks_first(world: World<Db>) {
    let _ = note(&world.store, "a").await.unwrap();
    let no = answer(&world, &["forget", "note_a"], "").await;
    assert_eq!((no.code, world.rows("note_a").await), (4, 1));
    assert!(no.err.contains("Forget it? [y/N]") && no.err.contains("runs again"));
    let yes = answer(&world, &["forget", "note_a"], "y\n").await;
    assert_eq!((yes.code, &*yes.out), (0, "`note_a` is forgotten\n"));
    assert_eq!(world.rows("note_a").await, 0);

    let _ = note(&world.store, "b").await.unwrap();
    let forced = run(&world, &["forget", "note_b", "--yes", "--json"]).await;
    assert_eq!(forced.json()["resolved"], "forget");
    assert_eq!(run(&world, &["forget", "note_b", "--yes"]).await.code, 3);
}

async fn purge_forgets_what_is_due(world: World<Db>) {
    let running = mixed(&world).await;
    let due = run(&world, &["purge", "--dry-run"]).await;
    assert_eq!(due.out, "1 key is due, and none was forgotten\n");
    let purged = run(&world, &["purge", "--json"]).await;
    assert_eq!(purged.json()["forgotten"], 1);
    assert_eq!(run(&world, &["list", "--json"]).await.keys().len(), 4);
    running.abort();
}

/// On a terminal, on its standard error; what it says at the end goes to the standard output.
async fn purge_draws_a_bar_on_a_terminal(world: World<Db>) {
    world.run(Db::EXPIRED_KEYS).await;
    let ends = Terminal::open().expect("a terminal");
    let child = Command::new(env!("CARGO_BIN_EXE_idempotent-under-test"))
        .arg("purge")
        .env("DATABASE_URL", &world.url)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(ends.theirs)
        .spawn()
        .expect("the command");
    let drawn = tokio::task::spawn_blocking(|| ends.ours.shown());
    let output = child.wait_with_output().await.expect("an end");
    let drawn = drawn.await.expect("what was drawn");
    assert_eq!(output.stdout, b"20000 keys are forgotten\n", "{drawn}");
    assert!(drawn.contains("/20000 keys, "), "{drawn}");
}

async fn migrate_installs_the_tables(world: World<Db>) {
    world.run("DROP TABLE idempotent_meta").await;
    let missing = run(&world, &["list"]).await;
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("store.migrate()"), "{}", missing.err);
    for _ in 0..2 {
        let done = run(&world, &["migrate"]).await;
        assert_eq!(
            (done.code, &*done.out),
            (0, "the ledger's tables are installed\n")
        );
    }
    assert_eq!(run(&world, &["list", "--json"]).await.keys(), [""; 0]);
}

async fn a_wrong_command_line_is_told_apart(world: World<Db>) {
    assert_eq!(run(&world, &["list", "--status", "gone"]).await.code, 2);
    assert_eq!(run(&world, &["resolve", "a"]).await.code, 2);
    let unknown = run(&world, &["list", "--database", "oracle://host/db"]).await;
    assert_eq!(unknown.code, 2);
    let help = run(&world, &["--help"]).await;
    assert!(help.out.contains("Exit codes:") && !help.out.contains(&world.url));
}

idempotent_tests::tests!(
    list_tells_the_states_apart,
    list_filters,
    show_tells_all_but_results,
    show_gives_results_when_asked,
    stats_count_by_job,
    resolve_decides,
    a_result_can_come_from_the_standard_input,
    forget_asks_first,
    purge_forgets_what_is_due,
    purge_draws_a_bar_on_a_terminal,
    migrate_installs_the_tables,
    a_wrong_command_line_is_told_apart,
);
