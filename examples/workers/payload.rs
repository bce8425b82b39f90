//! What the queue carries.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Takes the money for an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Charge {
    pub order_id: i64,
    pub cents: i64,
}

/// Gives a customer the points of an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Award {
    pub order_id: i64,
    pub points: i64,
}

/// One of the two kinds; each has a queue of its own, as apalis has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    Charge,
    Award,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Charge, Self::Award];

    pub fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Award => "award",
        }
    }
}

/// A job, as the parent and its workers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Job {
    pub kind: Kind,
    pub order_id: i64,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind.name(), self.order_id)
    }
}

/// A payload of one of the queues.
pub trait Payload: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    const KIND: Kind;
    fn order_id(&self) -> i64;

    fn job(&self) -> Job {
        Job {
            kind: Self::KIND,
            order_id: self.order_id(),
        }
    }
}

impl Payload for Charge {
    const KIND: Kind = Kind::Charge;
    fn order_id(&self) -> i64 {
        self.order_id
    }
}

impl Payload for Award {
    const KIND: Kind = Kind::Award;
    fn order_id(&self) -> i64 {
        self.order_id
    }
}
