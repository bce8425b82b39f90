//! A worker process, which fulfils one order: both ends of it.

use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result, ensure};
use idempotent_runtime::Outcome;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::job::fulfil;
use crate::outside::Outside;
use crate::place::{Fate, Place, THERE};
use crate::warehouse::Warehouse;

/// What a worker is told by its environment, and not on its command line: a server's URL may hold a
/// password.
const DATABASE: &str = "FULFIL_DATABASE";
const OUTSIDE: &str = "FULFIL_OUTSIDE";

/// In a worker: where its database is.
pub fn database() -> Result<String> {
    std::env::var(DATABASE).with_context(|| format!("{DATABASE} is not set"))
}

/// In a worker: calls the job, and tells the parent what came of it.
pub async fn work<DB: Warehouse>(database: &str, order_id: i64, fate: Fate) -> Result<()> {
    let outside = Outside(std::env::var(OUTSIDE)?.parse()?);
    let store = DB::open(database).await?;
    let outcome = fulfil::<DB>(&store, &outside, &fate, order_id).await?;
    fate.meet(Place::Answering);
    match outcome {
        Outcome::Performed(parcel) => println!("performed {parcel}"),
        Outcome::Replayed(parcel) => println!("replayed {parcel}"),
    }
    store.close().await;
    Ok(())
}

/// How to start workers.
pub struct Workers {
    pub database: String,
    pub outside: Outside,
}

impl Workers {
    fn start(&self, order_id: i64, place: Option<Place>) -> Result<Child> {
        let mut worker = Command::new(std::env::current_exe()?);
        worker.arg("worker").arg(order_id.to_string());
        if let Some(place) = place {
            let name = clap::ValueEnum::to_possible_value(&place).context("a place's name")?;
            worker.arg(name.get_name());
        }
        worker
            .env(DATABASE, &self.database)
            .env(OUTSIDE, self.outside.0.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a worker")
    }

    /// Has a worker begin the order, and kills it (SIGKILL) at the place.
    pub async fn kill_at(&self, place: Place, order_id: i64) -> Result<()> {
        let mut worker = self.start(order_id, Some(place))?;
        let said = first_line(&mut worker).await?;
        worker.start_kill()?;
        let status = worker.wait().await?;
        ensure!(
            said == THERE && was_killed(status),
            "the worker to be killed {} ended with {status}, and said {said:?}",
            place.words()
        );
        Ok(())
    }

    /// Has a worker of its own do the order, and gives what it says; `None` where it failed.
    pub async fn finish(&self, order_id: i64) -> Result<Option<String>> {
        let mut worker = self.start(order_id, None)?;
        let said = first_line(&mut worker).await?;
        let status = worker.wait().await?;
        Ok(status.success().then_some(said))
    }
}

async fn first_line(worker: &mut Child) -> Result<String> {
    let out = worker.stdout.take().context("no pipe from the worker")?;
    let line = BufReader::new(out).lines().next_line().await?;
    Ok(line.unwrap_or_default())
}

#[cfg(unix)]
fn was_killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(9)
}

#[cfg(not(unix))]
fn was_killed(status: ExitStatus) -> bool {
    !status.success()
}
