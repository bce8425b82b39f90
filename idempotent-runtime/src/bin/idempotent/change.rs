//! `migrate`, `resolve`, `forget`, `purge`: what changes the ledger.

use std::io::{self, Write};

use idempotent_runtime::operators::KeyState;
use idempotent_runtime::{Backend, Resolution, Store};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use serde_json::value::RawValue;

use crate::args::{Forget, Purge, Resolve};
use crate::failure::Failure;

/// How many keys one transaction of a purge forgets.
const BATCH: u32 = 500;

pub(crate) async fn migrate<DB: Backend>(store: &Store<DB>, json: bool) -> Result<(), Failure> {
    store.migrate().await?;
    say(
        json,
        json!({ "migrated": true }),
        "the ledger's tables are installed",
    )
}

pub(crate) async fn resolve<DB: Backend>(
    store: &Store<DB>,
    resolve: Resolve,
    json: bool,
) -> Result<(), Failure> {
    let key = resolve.key;
    if resolve.forget {
        let forget = Forget {
            key,
            yes: resolve.yes,
        };
        return self::forget(store, &forget, json).await;
    }
    if store.key(&key).await?.is_none() {
        return Err(Failure::NoSuchKey(key));
    }
    match resolve.complete {
        Some(text) => {
            let text = match &*text {
                "-" => io::read_to_string(io::stdin()).map_err(Failure::Input)?,
                _ => text,
            };
            let result: Box<RawValue> = serde_json::from_str(&text).map_err(Failure::NotJson)?;
            store.resolve(&key, Resolution::Complete(result)).await?;
            say(
                json,
                json!({ "key": key, "resolved": "complete" }),
                &format!("`{key}` is done: every call gets the given result from now on"),
            )
        }
        None => {
            store.resolve(&key, Resolution::RUN_AGAIN).await?;
            say(
                json,
                json!({ "key": key, "resolved": "run-again" }),
                &format!("the next call runs `{key}` again"),
            )
        }
    }
}

pub(crate) async fn forget<DB: Backend>(
    store: &Store<DB>,
    forget: &Forget,
    json: bool,
) -> Result<(), Failure> {
    let key = &forget.key;
    let Some(details) = store.key(key).await? else {
        return Err(Failure::NoSuchKey(key.clone()));
    };
    let question = format!(
        "`{key}` of job `{}` is {}. Forgotten, it runs again when it is called again, unless its guard \
         says that the work is done.",
        details.info.job, details.info.state
    );
    if !forget.yes && !yes(&question)? {
        return Err(Failure::Declined);
    }
    store.resolve(key, Resolution::FORGET).await?;
    say(
        json,
        json!({ "key": key, "resolved": "forget" }),
        &format!("`{key}` is forgotten"),
    )
}

pub(crate) async fn purge<DB: Backend>(
    store: &Store<DB>,
    purge: &Purge,
    json: bool,
) -> Result<(), Failure> {
    let due = store.stats().await?.count(KeyState::Expired);
    if purge.dry_run {
        return say(
            json,
            json!({ "due": due }),
            &format!("{} due, and none was forgotten", keys_are(due)),
        );
    }
    // Drawn on the standard error, and only where that is a terminal.
    let bar = ProgressBar::new(due).with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} keys, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let mut forgotten = 0;
    loop {
        let keys = store.purge_some(BATCH).await?;
        forgotten += keys;
        bar.inc(keys);
        if keys < u64::from(BATCH) {
            break;
        }
    }
    bar.finish_and_clear();
    say(
        json,
        json!({ "forgotten": forgotten }),
        &format!("{} forgotten", keys_are(forgotten)),
    )
}

fn keys_are(keys: u64) -> String {
    match keys {
        1 => "1 key is".to_owned(),
        keys => format!("{keys} keys are"),
    }
}

/// Asks on the standard error, and reads the answer; no answer is a no.
fn yes(question: &str) -> Result<bool, Failure> {
    eprint!("{question}\nForget it? [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(Failure::Input)?;
    if answer.is_empty() {
        eprintln!();
    }
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn say(as_json: bool, json: serde_json::Value, text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    Ok(match as_json {
        true => writeln!(out, "{json}"),
        false => writeln!(out, "{text}"),
    }?)
}
