//! The statements that an attempt ran: what a cut came after.
//!
//! sqlx logs each statement as a `tracing` event of the target `sqlx::query`, when it has run. A
//! subscriber of the lab's own listens, only where an attempt is at work: in the task that polls it,
//! or, on SQLite, in the threads of its connections.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

use super::turns::Turns;

/// The target of sqlx's events.
const TARGET: &str = "sqlx::query";

/// Run by the lab on a connection of its own making; not a statement of the attempt's.
pub(super) const LISTEN: &str = "SELECT 'the lab listens'";

/// The statements of one process, in their order.
#[derive(Debug, Clone, Default)]
pub struct Statements(Arc<Mutex<Vec<String>>>);

impl Statements {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them so far.
    pub(super) fn all(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<String> {
        self.lock().last().cloned()
    }

    /// Whether one of them looked for or wrote a key.
    pub(super) fn claimed(&self) -> bool {
        self.lock()
            .iter()
            .any(|sql| sql.contains("idempotent_keys"))
    }

    /// What hears them. With `turns`, it does so in a thread of the database's, where the end of a
    /// statement waits for its turn as every answer does.
    pub(super) fn listener(&self, turns: Option<&Turns>) -> Dispatch {
        // While there is only one subscriber, `tracing` asks whichever thread comes to an event
        // first, and takes its answer for all: a thread without a subscriber would silence it.
        static SECOND: OnceLock<Dispatch> = OnceLock::new();
        SECOND.get_or_init(|| Dispatch::new(Listener::default()));
        Dispatch::new(Listener {
            statements: self.clone(),
            turns: turns.cloned(),
        })
    }
}

#[derive(Default)]
struct Listener {
    statements: Statements,
    turns: Option<Turns>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        if let Some(sql) = text.sql()
            && sql != LISTEN
        {
            self.statements.lock().push(sql);
        }
        if let Some(turns) = &self.turns {
            turns.wait();
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// sqlx's fields: the first words of a statement, and all of it where it has more.
#[derive(Default)]
struct Text {
    summary: String,
    statement: String,
}

impl Text {
    /// The statement on one line.
    fn sql(&self) -> Option<String> {
        let text = match self.statement.trim() {
            "" => self.summary.trim(),
            whole => whole,
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "summary" => value.clone_into(&mut self.summary),
            "db.statement" => value.clone_into(&mut self.statement),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_heard_whole_and_on_one_line() {
        let statements = Statements::default();
        tracing::dispatcher::with_default(&statements.listener(None), || {
            let (summary, sql) = ("SELECT 1", "");
            tracing::debug!(target: "sqlx::query", summary, db.statement = sql);
            let (summary, sql) = (
                "INSERT INTO orders (id) …",
                "\n\nINSERT INTO orders (id)\n  VALUES (1)\n",
            );
            tracing::debug!(target: "sqlx::query", summary, db.statement = sql);
            tracing::debug!("something else");
        });
        assert_eq!(
            statements.all(),
            ["SELECT 1", "INSERT INTO orders (id) VALUES (1)"]
        );
        assert!(!statements.claimed());
    }
}
