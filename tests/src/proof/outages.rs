//! Outages: the server restarts as after a crash at every point, and commits are cut off.
//!
//! As deterministic as the [sweep](super::sweep), of whose paths it goes along those that perform; on
//! a server of its own, which nobody else misses.

use nix::sys::signal::Signal;

use super::Result;
use super::checker::Violation;
use super::database::ProofDatabase;
use super::pipe::Peer;
use super::server::Server;
use super::soak::proxy::{Cut, Cuts, listen};
use super::soak::ready;
use super::sweep::case::{Action, Passing, conclude, send, trace};
use super::sweep::path::{Path, paths};
use super::sweep::stage::{Ending, Stage};
use super::worker::Order;

/// What the outages came to.
#[derive(Debug, Default)]
pub struct Outages {
    /// Restarts, each at a point.
    pub restarts: usize,
    /// COMMITs that were cut off, before or while the server had them.
    pub cuts: usize,
    /// Cases whose point or COMMIT was not come to.
    pub missed: Vec<String>,
    /// What was broken, by the case.
    pub broken: Vec<(String, Violation)>,
}

/// All of them, on a fresh server; of the restarts, one in `one_in`.
pub async fn outages<DB: ProofDatabase>(mut server: Server, one_in: u64) -> Result<Outages> {
    let mut seen = Outages::default();
    let cuts = Cuts::new(0, 1);
    let port = listen(server.port(), cuts.clone()).await?;
    // The server is there, once it answers.
    ready::<DB>(&server.url(server.port())).await?.close().await;
    let mut stage = Stage::<DB>::set_on(&server.url(server.port()), None).await?;
    let mut second = stage.worker(false).await?;
    let mut turn = 0;
    for path in paths::<DB>().filter(|path| path.name == "performs") {
        let passings = trace(&mut stage, path, &mut second).await?;
        for passing in &passings {
            turn += 1;
            if turn % one_in != 0 {
                continue;
            }
            let name = format!("{}/{} is restarted", path.full_name(), passing.point);
            let found = restart(&mut stage, &mut server, path, passing, &mut second).await;
            seen.restarts += 1;
            note(name, found, &mut seen)?;
        }
        for cut in [Cut::Before, Cut::During] {
            let name = format!("{}/COMMIT is cut: {cut:?}", path.full_name());
            let through = stage
                .url
                .replace(&format!(":{}/", server.port()), &format!(":{port}/"));
            let first = stage.worker_at(through, false).await?;
            cuts.cut_next(cut);
            let found = cut_off(&mut stage, path, first, &mut second).await;
            seen.cuts += 1;
            note(name, found, &mut seen)?;
        }
    }
    second.end().await?;
    stage.strike().await?;
    let cut = &cuts;
    let done = [&cut.before, &cut.during].map(|n| n.load(std::sync::atomic::Ordering::Relaxed));
    if usize::try_from(done[0] + done[1])? != seen.cuts {
        seen.missed
            .push(format!("only {done:?} of {} COMMITs were cut", seen.cuts));
    }
    server.stop().await?;
    Ok(seen)
}

fn note(name: String, found: Result<Option<Vec<Violation>>>, seen: &mut Outages) -> Result<()> {
    match found.map_err(|error| format!("{name}: {error}"))? {
        None => seen.missed.push(name),
        Some(found) => {
            let named = found.into_iter().map(|violation| (name.clone(), violation));
            seen.broken.extend(named);
        }
    }
    Ok(())
}

/// The first process stands still at a point while the server crashes and comes back.
async fn restart<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    server: &mut Server,
    path: &Path,
    passing: &Passing,
    second: &mut Peer,
) -> Result<Option<Vec<Violation>>> {
    let n = stage.fresh();
    let key = path.kind.key(n);
    let mut first = stage.worker(false).await?;
    send(stage, path, passing, Action::Stop, n, &mut first, second).await?;
    let mut ending = stage.ending(&mut first, &key, drop).await?;
    let met = ending == Ending::At;
    if met {
        first.has_stopped().await?;
        server.restart().await?;
        ready::<DB>(&stage.url).await?.close().await;
        first.signal(Signal::SIGCONT);
        ending = stage.ending(&mut first, &key, drop).await?;
    }
    let found = conclude(stage, path, n, first, second, ending).await?;
    Ok(met.then_some(found))
}

/// The first process' COMMIT is cut off; its later ones are not.
async fn cut_off<DB: ProofDatabase>(
    stage: &mut Stage<DB>,
    path: &Path,
    mut first: Peer,
    second: &mut Peer,
) -> Result<Option<Vec<Violation>>> {
    let n = stage.fresh();
    let key = path.kind.key(n);
    first
        .say(&Order::Run(stage.task(path.kind, n, path.how)))
        .await?;
    let ending = stage.ending(&mut first, &key, drop).await?;
    conclude(stage, path, n, first, second, ending)
        .await
        .map(Some)
}
