//! Filling the shop with work.

use anyhow::Result;
use sqlx::SqliteConnection;

use super::{World, tables};
use crate::task::{Case, Job, Task, Way};

/// What invoices are for.
const MONTH: &str = "2026-01";

impl World {
    /// Adds `jobs` fresh records for each job and way, and one more of each for
    /// which there is nothing to do.
    pub async fn seed(&self, jobs: u32) -> Result<Vec<Case>> {
        let mut cases = Vec::new();
        let mut tx = self.pool.begin().await?;
        for way in Way::ALL {
            for nothing_to_do in (0..jobs).map(|_| false).chain([true]) {
                for job in Job::ALL {
                    let task = insert(&mut tx, job, cases.len()).await?;
                    if nothing_to_do {
                        self.settle(&mut tx, &task).await?;
                    }
                    cases.push(Case {
                        way,
                        task,
                        nothing_to_do,
                        effects_before: 0,
                    });
                }
            }
        }
        tx.commit().await?;
        for case in &mut cases {
            case.effects_before = self.effects(&case.task).await?;
        }
        Ok(cases)
    }

    /// What happened to the record before anybody called the job: the user left,
    /// the order was paid in cash, the invoice and the account were made by hand.
    async fn settle(&self, conn: &mut SqliteConnection, task: &Task) -> sqlx::Result<()> {
        match task {
            Task::SendWelcomeEmail { user_id } => {
                sqlx::query("DELETE FROM users WHERE id = ?")
                    .bind(user_id)
                    .execute(conn)
                    .await?;
            }
            Task::ChargePayment { order_id } => tables::mark_paid(conn, *order_id, "cash").await?,
            Task::CreateInvoice { order_id, month } => {
                let total = tables::total(&mut *conn, *order_id).await?;
                if self.naive {
                    tables::insert_naive_invoice(conn, *order_id, month, total).await?;
                } else {
                    tables::insert_invoice(conn, *order_id, month, total).await?;
                }
            }
            Task::ProvisionAccount { signup_id } => {
                let account_id = tables::create_account(&mut *conn, *signup_id).await?;
                tables::mark_provisioned(conn, *signup_id, account_id).await?;
            }
        }
        Ok(())
    }
}

/// A fresh record, numbered within the run.
async fn insert(conn: &mut SqliteConnection, job: Job, number: usize) -> Result<Task> {
    let cents = 1_000 + 100 * i64::try_from(number)?;
    let (sql, email) = match job {
        Job::SendWelcomeEmail => ("INSERT INTO users (email) VALUES (?) RETURNING id", true),
        Job::ProvisionAccount => ("INSERT INTO signups (email) VALUES (?) RETURNING id", true),
        Job::ChargePayment | Job::CreateInvoice => {
            ("INSERT INTO orders (total) VALUES (?) RETURNING id", false)
        }
    };
    let insert = sqlx::query_scalar(sql);
    let insert = if email {
        insert.bind(format!("customer{number}@shop.example"))
    } else {
        insert.bind(cents)
    };
    let id = insert.fetch_one(conn).await?;
    Ok(match job {
        Job::SendWelcomeEmail => Task::SendWelcomeEmail { user_id: id },
        Job::ChargePayment => Task::ChargePayment { order_id: id },
        Job::CreateInvoice => Task::CreateInvoice {
            order_id: id,
            month: MONTH.to_owned(),
        },
        Job::ProvisionAccount => Task::ProvisionAccount { signup_id: id },
    })
}
