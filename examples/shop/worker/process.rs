//! The worker's own end.

use anyhow::Result;
use idempotent_runtime::{MySql, Outcome, Postgres, Sqlite, Store};
use serde::Serialize;
use serde_json::Value;
use sqlx::Pool;
use tokio::sync::mpsc;

use super::{Answer, Event, Failure, Order, Setup};
use crate::error::ShopError;
use crate::gateway::Gateway;
use crate::mail::Mailer;
use crate::metrics::Recorder;
use crate::pipe::{self, Heard};
use crate::points::{Point, Points};
use crate::task::Task;
use crate::words::in_words;
use crate::world::{Place, ShopDatabase};
use crate::{jobs, naive};

/// Runs what the parent orders, one task after another, until it is gone.
pub async fn work() -> Result<()> {
    let mut parent = Heard::new();
    let Some(setup) = parent.next::<Setup>().await? else {
        return Ok(());
    };
    match &setup.place {
        Place::Sqlite(place) => work_on::<Sqlite>(place, &setup, parent).await,
        Place::Postgres(place) => work_on::<Postgres>(place, &setup, parent).await,
        Place::MySql(place) => work_on::<MySql>(place, &setup, parent).await,
    }
}

async fn work_on<DB: ShopDatabase>(place: &DB::Place, setup: &Setup, parent: Heard) -> Result<()> {
    let recorder = setup.metrics.then(Recorder::install).transpose()?;
    let pool = DB::connect(place).await?;
    let worker = Worker {
        database: if setup.naive {
            Database::Naive(pool)
        } else {
            Database::Annotated(Store::new(pool))
        },
        gateway: Gateway::new(setup.gateway),
        mailer: Mailer::new(setup.mail),
        points: Points::default(),
        recorder,
    };
    pipe::say(&Event::Ready);
    // Orders are heard while a task runs: that is when a release comes.
    let (tasks, queue) = mpsc::unbounded_channel();
    tokio::select! {
        heard = listen(parent, tasks, &worker.points) => heard,
        () = worker.run_all(queue) => Ok(()),
    }
}

async fn listen(
    mut parent: Heard,
    tasks: mpsc::UnboundedSender<(Task, Option<Point>)>,
    points: &Points,
) -> Result<()> {
    while let Some(order) = parent.next().await? {
        match order {
            Order::Run { task, hold } => tasks.send((task, hold))?,
            Order::Release => points.release(),
        }
    }
    Ok(())
}

enum Database<DB: ShopDatabase> {
    Annotated(Store<DB>),
    Naive(Pool<DB>),
}

struct Worker<DB: ShopDatabase> {
    database: Database<DB>,
    gateway: Gateway,
    mailer: Mailer,
    points: Points,
    recorder: Option<Recorder>,
}

impl<DB: ShopDatabase> Worker<DB> {
    async fn run_all(&self, mut queue: mpsc::UnboundedReceiver<(Task, Option<Point>)>) {
        while let Some((task, hold)) = queue.recv().await {
            self.points.hold(hold);
            let ran = match &self.database {
                Database::Annotated(store) => self.run(store, &task).await,
                Database::Naive(pool) => self.run_naive(pool, &task).await,
            };
            if let Some(recorder) = &self.recorder {
                pipe::say(&Event::Measured(recorder.samples()));
            }
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

    async fn run(&self, store: &Store<DB>, task: &Task) -> Result<Answer, ShopError> {
        let Self {
            gateway,
            mailer,
            points,
            ..
        } = self;
        Ok(match task {
            Task::SendWelcomeEmail { user_id } => {
                told(jobs::send_welcome_email::<DB>(store, mailer, points, *user_id).await?)
            }
            Task::ChargePayment { order_id } => {
                told(jobs::charge_payment::<DB>(store, gateway, points, *order_id).await?)
            }
            Task::CreateInvoice { order_id, month } => {
                told(jobs::create_invoice::<DB>(store, points, *order_id, month).await?)
            }
            Task::ProvisionAccount { signup_id } => {
                told(jobs::provision_account::<DB>(store, points, *signup_id).await?)
            }
        })
    }

    async fn run_naive(&self, pool: &Pool<DB>, task: &Task) -> Result<Answer, ShopError> {
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
