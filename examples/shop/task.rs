//! What there is to do: the four jobs, and the ways in which they are run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of the four jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    SendWelcomeEmail,
    ChargePayment,
    CreateInvoice,
    ProvisionAccount,
}

impl Job {
    pub const ALL: [Self; 4] = [
        Self::SendWelcomeEmail,
        Self::ChargePayment,
        Self::CreateInvoice,
        Self::ProvisionAccount,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::SendWelcomeEmail => "send_welcome_email",
            Self::ChargePayment => "charge_payment",
            Self::CreateInvoice => "create_invoice",
            Self::ProvisionAccount => "provision_account",
        }
    }
}

/// A job and the record that it is about: what a queue would carry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Task {
    SendWelcomeEmail { user_id: i64 },
    ChargePayment { order_id: i64 },
    CreateInvoice { order_id: i64, month: String },
    ProvisionAccount { signup_id: i64 },
}

impl Task {
    pub fn job(&self) -> Job {
        match self {
            Self::SendWelcomeEmail { .. } => Job::SendWelcomeEmail,
            Self::ChargePayment { .. } => Job::ChargePayment,
            Self::CreateInvoice { .. } => Job::CreateInvoice,
            Self::ProvisionAccount { .. } => Job::ProvisionAccount,
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.job().name();
        match self {
            Self::SendWelcomeEmail { user_id: id }
            | Self::ChargePayment { order_id: id }
            | Self::ProvisionAccount { signup_id: id } => write!(f, "{name}({id})"),
            Self::CreateInvoice { order_id, month } => write!(f, "{name}({order_id}, {month})"),
        }
    }
}

/// How the tasks are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    OneAfterAnother,
    AtOnce,
    Killed,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::OneAfterAnother, Self::AtOnce, Self::Killed];

    pub fn name(self) -> &'static str {
        match self {
            Self::OneAfterAnother => "one after another",
            Self::AtOnce => "at once",
            Self::Killed => "with workers killed",
        }
    }
}

/// A task as the world was filled with it.
#[derive(Clone, Debug)]
pub struct Case {
    pub way: Way,
    pub task: Task,
    /// The record is gone, or was dealt with before anybody called the job: right
    /// is then to do nothing.
    pub nothing_to_do: bool,
    /// Effects in the database that were there before.
    pub effects_before: u64,
}
