//! Mail: a server that keeps count in a process of its own, and the shop's
//! mailer.
//!
//! SMTP has no idempotency key. What a sender can do is to give a mail that it
//! repeats the same `Message-ID`, by which mailboxes and providers drop the
//! copy. So the promise here is one distinct `Message-ID` a user; deliveries may
//! be more.

mod client;
mod sink;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use client::{MailError, Mailer};
pub use sink::{Ask, serve};

/// What the mail server counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Mails accepted.
    pub deliveries: u64,
    /// Distinct `Message-ID`s, by recipient.
    pub message_ids: BTreeMap<String, BTreeSet<String>>,
}
