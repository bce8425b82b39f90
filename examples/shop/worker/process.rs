//! The worker's own end.

use anyhow::Result;
use idempotent_runtime::{Outcome, SqliteStore};
use serde::Serialize;
use serde_json::Value;
use sqlx::SqlitePool;
use tokio::sync::mpsc;

use super::{Answer, Event, Failure, Order};
use crate::cli::WorkerArgs;
use crate::error::{ShopError, in_words};
use crate::gateway::Gateway;
use crate::mail::Mailer;
use crate::pipe::{self, Heard};
use crate::points::{Point, Points};
use crate::task::Task;
use crate::{jobs, naive, world};

/// Runs what the parent orders, one task after another, until it is gone.
pub async fn work(args: WorkerArgs) -> Result<()> {
    let worker = Worker {
        database: Database::open(&args).await?,
        gateway: Gateway::new(args.gateway),
        mailer: Mailer::new(args.mail),
        points: Points::default(),
    };
    pipe::say(&Event::Ready);
    // Orders are heard while a task runs: that is when a release comes.
    let (tasks, queue) = mpsc::unbounded_channel();
    tokio::select! {
        heard = listen(tasks, &worker.points) => heard,
        () = worker.run_all(queue) => Ok(()),
    }
}

async fn listen(
    tasks: mpsc::UnboundedSender<(Task, Option<Point>)>,
    points: &Points,
) -> Result<()> {
    let mut parent = Heard::new();
    while let Some(order) = parent.next().await? {
        match order {
            Order::Run { task, hold } => tasks.send((task, hold))?,
            Order::Release => points.release(),
        }
    }
    Ok(())
}

enum Database {
    Annotated(SqliteStore),
    Naive(SqlitePool),
}

impl Database {
    async fn open(args: &WorkerArgs) -> Result<Self> {
        let pool = world::connect(&args.db).await?;
        Ok(if args.naive {
            Self::Naive(pool)
        } else {
            Self::Annotated(SqliteStore::new(pool))
        })
    }
}

struct Worker {
    database: Database,
    gateway: Gateway,
    mailer: Mailer,
    points: Points,
}

impl Worker {
    async fn run_all(&self, mut queue: mpsc::UnboundedReceiver<(Task, Option<Point>)>) {
        while let Some((task, hold)) = queue.recv().await {
            self.points.hold(hold);
            let ran = match &self.database {
                Database::Annotated(store) => self.run(store, &task).await,
                Database::Naive(pool) => self.run_naive(pool, &task).await,
            };
            pipe::say(&match ran {
                Ok(answer) => {
                    self.points.pass(Point::Returned).await;
                    Event::Done(answer)
                }
                Err(error) => Event::Failed(Failure {
                    retry_after: error.retry_after(),
                    message: in_words(&error.into()),
                }),
            });
        }
    }

    async fn run(&self, store: &SqliteStore, task: &Task) -> Result<Answer, ShopError> {
        let Self {
            gateway,
            mailer,
            points,
            ..
        } = self;
        Ok(match task {
            Task::SendWelcomeEmail { user_id } => {
                told(jobs::send_welcome_email(store, mailer, points, *user_id).await?)
            }
            Task::ChargePayment { order_id } => {
                told(jobs::charge_payment(store, gateway, points, *order_id).await?)
            }
            Task::CreateInvoice { order_id, month } => {
                told(jobs::create_invoice(store, points, *order_id, month).await?)
            }
            Task::ProvisionAccount { signup_id } => {
                told(jobs::provision_account(store, points, *signup_id).await?)
            }
        })
    }

    async fn run_naive(&self, pool: &SqlitePool, task: &Task) -> Result<Answer, ShopError> {
        let Self {
            gateway,
            mailer,
            points,
            ..
        } = self;
        Ok(match task {
            Task::SendWelcomeEmail { user_id } => {
                told_naively(naive::send_welcome_email(pool, mailer, points, *user_id).await?)
            }
            Task::ChargePayment { order_id } => {
                told_naively(naive::charge_payment(pool, gateway, points, *order_id).await?)
            }
            Task::CreateInvoice { order_id, month } => {
                told_naively(naive::create_invoice(pool, points, *order_id, month).await?)
            }
            Task::ProvisionAccount { signup_id } => {
                told_naively(naive::provision_account(pool, points, *signup_id).await?)
            }
        })
    }
}

fn told<T: Serialize, S>(outcome: Outcome<T, S>) -> Answer {
    match outcome {
        Outcome::Performed(value) => Answer::Performed(plain(&value)),
        Outcome::Replayed(value) => Answer::Replayed(plain(&value)),
        Outcome::Skipped(_) => Answer::Skipped,
    }
}

fn told_naively<T: Serialize>(done: Option<T>) -> Answer {
    done.map_or(Answer::Skipped, |value| Answer::Performed(plain(&value)))
}

fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("the jobs' results are plain data")
}
