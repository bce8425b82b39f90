//! Whether every effect is there exactly once.

use anyhow::{Context as _, Result};

use crate::tally::{Counts, Tally};
use crate::task::{Case, Job, Task, Way};
use crate::world::{ShopDatabase, World};
use crate::{gateway, mail};

/// What the three witnesses and the callers say of one job.
#[derive(Debug)]
pub struct Line {
    pub job: Job,
    /// Tasks that had something to do: so many effects there should be.
    pub wanted: u64,
    pub counts: Counts,
    /// Effects in the database.
    pub database: u64,
    /// Charges, or distinct `Message-ID`s; None for a job that has no such effect.
    pub outside: Option<u64>,
}

#[derive(Debug)]
pub struct Verdict {
    pub lines: Vec<Line>,
    pub gateway_requests: u64,
    pub mail_deliveries: u64,
    /// What is not as it should be, in words.
    pub faults: Vec<String>,
    /// The ways of the tasks whose effect is there more than once.
    doubles: Vec<Way>,
}

impl Verdict {
    pub async fn reach(
        cases: &[Case],
        tally: &Tally,
        world: &World<impl ShopDatabase>,
        gateway: &gateway::Report,
        mail: &mail::Report,
    ) -> Result<Self> {
        let mut lines: Vec<Line> = Job::ALL.map(|job| Line::new(job, tally)).into();
        let (mut faults, mut doubles) = (Vec::new(), Vec::new());
        for case in cases {
            let line = lines
                .iter_mut()
                .find(|line| line.job == case.task.job())
                .context("every job has a line")?;
            let wanted = u64::from(!case.nothing_to_do);
            let there = world.effects(&case.task).await?;
            let database = there.saturating_sub(case.effects_before);
            let outside = outside(&case.task, world, gateway, mail).await?;
            let answers = tally.answers(&case.task);

            line.wanted += wanted;
            line.database += database;
            if let Some(count) = outside {
                *line.outside.get_or_insert_default() += count;
            }
            let mut fault = |what: &str, count: u64| {
                let Case { task, way, .. } = case;
                faults.push(format!("{task}, {}: {count} {what}", way.name()));
            };
            if database != wanted {
                fault("effects in the database", database);
            }
            if let Some(count) = outside.filter(|&count| count != wanted) {
                fault("effects outside of it", count);
            }
            if answers != wanted {
                fault("different answers", answers);
            }
            if database.max(outside.unwrap_or_default()) > wanted {
                doubles.push(case.way);
            }
        }
        Ok(Self {
            lines,
            gateway_requests: gateway.requests,
            mail_deliveries: mail.deliveries,
            faults,
            doubles,
        })
    }

    /// Jobs of which no worker was killed where it hurts most: nothing was shown
    /// about them.
    pub fn unharmed(&self) -> impl Iterator<Item = Job> {
        let unharmed = self
            .lines
            .iter()
            .filter(|line| line.counts.kills_in_between == 0);
        unharmed.map(|line| line.job)
    }

    /// How many tasks, of those run in this way, had their effect more than once.
    pub fn doubles(&self, way: Way) -> usize {
        self.doubles.iter().filter(|&&it| it == way).count()
    }
}

impl Line {
    fn new(job: Job, tally: &Tally) -> Self {
        Self {
            job,
            wanted: 0,
            counts: tally.counts(job),
            database: 0,
            outside: None,
        }
    }
}

/// How often the task's effect happened outside of the database, if it has one there.
async fn outside(
    task: &Task,
    world: &World<impl ShopDatabase>,
    gateway: &gateway::Report,
    mail: &mail::Report,
) -> Result<Option<u64>> {
    Ok(match task {
        Task::ChargePayment { order_id } => {
            Some(gateway.charges.get(order_id).copied().unwrap_or_default())
        }
        Task::SendWelcomeEmail { user_id } => {
            let address = world.address(*user_id).await?;
            let ids = address.and_then(|address| mail.message_ids.get(&address));
            Some(ids.map_or(0, |ids| ids.len() as u64))
        }
        Task::CreateInvoice { .. } | Task::ProvisionAccount { .. } => None,
    })
}
