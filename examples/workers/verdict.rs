//! What was to be, and what is.

use std::collections::BTreeMap;

use anyhow::Result;
use sqlx::SqlitePool;

use crate::books;
use crate::gateway;
use crate::payload::{Job, Kind};
use crate::queue::Settled;
use crate::tally::{Counts, Tally};

/// What the run was, by kind.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub kind: Kind,
    pub pushed: u64,
    /// Of these, jobs that nobody can do.
    pub poison: u64,
    /// Jobs whose worker is to be killed.
    pub kills: u64,
}

/// A kind of job, and all that was seen of it.
pub struct Line {
    pub plan: Plan,
    pub wanted: u64,
    pub counts: Counts,
    pub settled: Settled,
    pub database: u64,
    /// Charges at the gateway.
    pub outside: Option<u64>,
}

pub struct Verdict {
    pub lines: Vec<Line>,
    pub gateway_requests: u64,
    pub fallen: u64,
    /// In words, what is not as it should be.
    pub faults: Vec<String>,
    /// Jobs whose effect is there more than once.
    pub doubles: usize,
}

impl Verdict {
    /// `orders` are those to be charged and awarded, once each.
    pub async fn reach(
        orders: &[i64],
        plans: &[(Plan, Settled)],
        tally: &Tally,
        pool: &SqlitePool,
        gateway: &gateway::Report,
    ) -> Result<Self> {
        let mut verdict = Self {
            lines: Vec::new(),
            gateway_requests: gateway.requests,
            fallen: tally.fallen,
            faults: Vec::new(),
            doubles: 0,
        };
        for &(plan, settled) in plans {
            let (database, outside) = match plan.kind {
                Kind::Charge => (books::payments(pool).await?, Some(&gateway.charges)),
                Kind::Award => (books::awards(pool).await?, None),
            };
            let database: BTreeMap<i64, u64> = database
                .into_iter()
                .map(|(order, count)| Ok((order, count.try_into()?)))
                .collect::<Result<_>>()?;
            verdict.compare(plan.kind, orders, &database, outside, tally);
            verdict.lines.push(Line {
                plan,
                wanted: orders.len() as u64,
                counts: tally.counts(plan.kind),
                settled,
                database: database.values().sum(),
                outside: outside.map(|charges| charges.values().sum()),
            });
        }
        verdict.judge_the_queue();
        Ok(verdict)
    }

    /// Each order's effects, and those of what is no order.
    fn compare(
        &mut self,
        kind: Kind,
        orders: &[i64],
        database: &BTreeMap<i64, u64>,
        outside: Option<&BTreeMap<i64, u64>>,
        tally: &Tally,
    ) {
        let others = database
            .keys()
            .chain(outside.into_iter().flat_map(BTreeMap::keys));
        let mut all: Vec<i64> = orders.iter().chain(others).copied().collect();
        all.sort_unstable();
        all.dedup();
        for order_id in all {
            let wanted = u64::from(orders.contains(&order_id));
            let job = Job { kind, order_id };
            let count = |of: &BTreeMap<i64, u64>| of.get(&order_id).copied().unwrap_or_default();
            let there = count(database);
            let outside = outside.map(count);
            let answers = tally.answers(job) as u64;
            let mut fault = |what: &str, count: u64| {
                self.faults.push(format!("{job}: {count} {what}"));
            };
            if there != wanted {
                fault("effects in the database", there);
            }
            if let Some(charges) = outside.filter(|&charges| charges != wanted) {
                fault("charges", charges);
            }
            if answers > wanted {
                fault("different answers", answers);
            }
            if there.max(outside.unwrap_or_default()) > wanted {
                self.doubles += 1;
            }
        }
    }

    /// A poison job is given up, and nothing else is.
    fn judge_the_queue(&mut self) {
        for line in &self.lines {
            let name = line.plan.kind.name();
            if line.settled.dead != line.plan.poison {
                let Settled { dead, .. } = line.settled;
                self.faults.push(format!("{name}: {dead} jobs given up"));
            }
        }
    }

    /// Whether workers were killed where it hurts most; otherwise nothing was shown.
    pub fn killed(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.all(|line| line.counts.kills == line.plan.kills)
    }
}
