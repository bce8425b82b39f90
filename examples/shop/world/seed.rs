//! Filling the shop with work.

use anyhow::Result;

use super::{ShopDatabase, World};
use crate::task::{Case, Job, Task, Way};

/// What invoices are for.
const MONTH: &str = "2026-01";

impl<DB: ShopDatabase> World<DB> {
    /// Adds `jobs` fresh records for each job and way, and one more of each for
    /// which there is nothing to do.
    pub async fn seed(&self, jobs: u32) -> Result<Vec<Case>> {
        let mut cases = Vec::new();
        let mut tx = self.pool.begin().await?;
        for way in Way::ALL {
            for nothing_to_do in (0..jobs).map(|_| false).chain([true]) {
                for job in Job::ALL {
                    let task = insert::<DB>(&mut tx, job, cases.len()).await?;
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
    async fn settle(&self, conn: &mut DB::Connection, task: &Task) -> sqlx::Result<()> {
        match task {
            Task::SendWelcomeEmail { user_id } => {
                let sql = "DELETE FROM users WHERE id = ?";
                DB::change(conn, sql, &[(*user_id).into()]).await?;
            }
            Task::ChargePayment { order_id } => DB::mark_paid(conn, *order_id, "cash").await?,
            Task::CreateInvoice { order_id, month } => {
                let total = DB::total(conn, *order_id).await?;
                if self.naive {
                    DB::insert_naive_invoice(conn, *order_id, month, total).await?;
                } else {
                    DB::insert_invoice(conn, *order_id, month, total).await?;
                }
            }
            Task::ProvisionAccount { signup_id } => {
                let account_id = DB::create_account(conn, *signup_id).await?;
                DB::mark_provisioned(conn, *signup_id, account_id).await?;
            }
        }
        Ok(())
    }
}

/// A fresh record, numbered within the run.
async fn insert<DB: ShopDatabase>(
    conn: &mut DB::Connection,
    job: Job,
    number: usize,
) -> Result<Task> {
    let cents = 1_000 + 100 * i64::try_from(number)?;
    let email = format!("customer{number}@shop.example");
    let (sql, value) = match job {
        Job::SendWelcomeEmail => ("INSERT INTO users (email) VALUES (?)", (&*email).into()),
        Job::ProvisionAccount => ("INSERT INTO signups (email) VALUES (?)", (&*email).into()),
        Job::ChargePayment | Job::CreateInvoice => {
            ("INSERT INTO orders (total) VALUES (?)", cents.into())
        }
    };
    let id = DB::insert(conn, sql, &[value]).await?;
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
