//! What an attribute says about its job, fixed at compile time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::dialect::Violated;
use crate::error::Error;

/// How long a duplicate waits for the running attempt.
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(5);
/// How long a leased attempt may be silent.
pub(crate) const DEFAULT_LEASE: Duration = Duration::from_secs(60);
/// How long the outside world is taken to remember a key.
pub(crate) const DEFAULT_KEY_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// One annotated function: its recorded name and its options. A `static` of each expansion.
#[derive(Debug)]
pub struct Site {
    pub(crate) name: &'static str,
    module: &'static str,
    file: &'static str,
    line: u32,
    pub(crate) wait: Duration,
    pub(crate) retain: Option<Duration>,
    pub(crate) lease: Duration,
    pub(crate) key_window: Option<Duration>,
    pub(crate) guard: &'static str,
    pub(crate) unique: Option<Unique>,
    pub(crate) reconciles: bool,
    registered: AtomicBool,
    replays: AtomicU8,
}

/// The constraint that means "already done".
#[derive(Debug, Clone, Copy)]
pub enum Unique {
    Columns(&'static str, &'static [&'static str]),
    Named(&'static str),
}

impl Unique {
    /// Whether a violated constraint is this one.
    pub(crate) fn is(&self, violated: &Violated) -> bool {
        match self {
            Self::Named(name) => violated
                .name
                .as_deref()
                .is_some_and(|other| name.eq_ignore_ascii_case(other)),
            Self::Columns(table, columns) => violated.covers(table, columns),
        }
    }
}

impl Site {
    /// A job of this name, with the default options.
    #[must_use]
    pub const fn new(
        name: &'static str,
        module: &'static str,
        file: &'static str,
        line: u32,
    ) -> Self {
        Self {
            name,
            module,
            file,
            line,
            wait: DEFAULT_WAIT,
            retain: None,
            lease: DEFAULT_LEASE,
            key_window: Some(DEFAULT_KEY_WINDOW),
            guard: "",
            unique: None,
            reconciles: false,
            registered: AtomicBool::new(false),
            replays: AtomicU8::new(0),
        }
    }

    /// `wait = …`
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// `retain = …`
    #[must_use]
    pub const fn retain(mut self, retain: Duration) -> Self {
        self.retain = Some(retain);
        self
    }

    /// `lease = …`
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// `key_window = …`; `None` is `forever`.
    #[must_use]
    pub const fn key_window(mut self, window: Option<Duration>) -> Self {
        self.key_window = window;
        self
    }

    /// `guard = …`, as written.
    #[must_use]
    pub const fn guard(mut self, guard: &'static str) -> Self {
        self.guard = guard;
        self
    }

    /// `reconcile = …`: a leftover attempt is looked up, so its age alone decides nothing.
    #[must_use]
    pub const fn reconcile(mut self) -> Self {
        self.reconciles = true;
        self
    }

    /// `unique = table(columns…)`
    #[must_use]
    pub const fn unique_columns(
        mut self,
        table: &'static str,
        columns: &'static [&'static str],
    ) -> Self {
        self.unique = Some(Unique::Columns(table, columns));
        self
    }

    /// `unique = "name"`
    #[must_use]
    pub const fn unique_named(mut self, name: &'static str) -> Self {
        self.unique = Some(Unique::Named(name));
        self
    }

    /// Refuses a second function of the same recorded name: it would replay the first one's
    /// results where their keys are equal.
    pub(crate) fn register(&'static self) -> Result<(), Error> {
        static NAMES: Mutex<Option<HashMap<&'static str, &'static Site>>> = Mutex::new(None);

        if self.registered.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *names
            .get_or_insert_default()
            .entry(self.name)
            .or_insert(self);
        if std::ptr::eq(first, self) {
            self.registered.store(true, Ordering::Relaxed);
            return Ok(());
        }
        Err(Error::NameTwice {
            name: self.name.to_owned(),
            first: first.place(),
            second: self.place(),
        })
    }

    fn place(&self) -> String {
        format!("in `{}` ({}:{})", self.module, self.file, self.line)
    }

    /// Whether the last calls of this job in this process were mostly replays: then a read comes
    /// first, and a claim only where it finds nothing.
    pub(crate) fn replay_is_likely(&self) -> bool {
        self.replays.load(Ordering::Relaxed) >= 4
    }

    /// Learns from a call. A fresh one outweighs several replays, for a wasted read costs it more
    /// than a wasted claim costs a replay.
    pub(crate) fn learn(&self, replayed: bool) {
        let seen = self.replays.load(Ordering::Relaxed);
        let now = if replayed {
            (seen + 1).min(8)
        } else {
            seen.saturating_sub(3)
        };
        if now != seen {
            self.replays.store(now, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_one_function() {
        static A: Site = Site::new("site_tests::process", "a", "a.rs", 1);
        static B: Site = Site::new("site_tests::process", "b", "b.rs", 2);
        A.register().unwrap();
        A.register().unwrap();
        let error = B.register().unwrap_err().to_string();
        assert!(error.contains("in `a` (a.rs:1)") && error.contains("in `b` (b.rs:2)"));
    }

    #[test]
    fn a_constraint_is_known_by_name_or_by_columns() {
        let by_columns = Violated {
            name: None,
            schema: None,
            table: Some("invoices".into()),
            columns: Some(vec!["order_id".into(), "month".into()]),
            values: None,
        };
        assert!(Unique::Columns("invoices", &["month", "order_id"]).is(&by_columns));
        assert!(!Unique::Columns("invoices", &["order_id"]).is(&by_columns));
        assert!(!Unique::Columns("orders", &["month", "order_id"]).is(&by_columns));
        assert!(!Unique::Named("invoices_key").is(&by_columns));
    }
}
