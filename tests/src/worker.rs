//! Another process that runs jobs, as a test sees it: told what to call, answered where it asks, and
//! killed, stopped or let go on at a point that it has announced. Events only, no sleeps.
//!
//! It speaks lines. The worker says `at POINT` and waits for `go`; `charge KEY`, to a gateway that
//! the test is, and waits for a receipt; and at last `done …` or `failed …`.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A gateway that honours keys: the outside world of all workers of a test.
#[derive(Debug, Clone, Default)]
pub struct Bank(Arc<Mutex<Vec<String>>>);

impl Bank {
    /// The keys of all requests, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.0.lock().expect("a lock").clone()
    }

    /// How many charges it made: one a key.
    #[must_use]
    pub fn charges(&self) -> usize {
        let mut keys = self.requests();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    }
}

/// A process that runs jobs.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
    bank: Bank,
}

/// Longer than any wait of a job.
const PATIENCE: Duration = Duration::from_secs(60);

impl Worker {
    /// Starts the program on a database, and waits until it is ready.
    pub async fn start(program: &str, url: &str, bank: &Bank) -> Self {
        let mut child = Command::new(program)
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the worker");
        let input = child.stdin.take().expect("its input");
        let output = child.stdout.take().expect("its output");
        let mut worker = Self {
            child,
            lines: BufReader::new(output).lines(),
            input,
            bank: bank.clone(),
        };
        assert_eq!(worker.line().await, "ready");
        worker
    }

    /// The next line that it says; nothing when it is dead.
    pub async fn try_line(&mut self) -> Option<String> {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("a line in time").ok().flatten();
        if let Some(key) = line
            .as_deref()
            .and_then(|line| line.strip_prefix("charge "))
        {
            // A request that was sent has arrived, whatever becomes of its sender.
            self.bank.0.lock().expect("a lock").push(key.to_owned());
        }
        line
    }

    async fn line(&mut self) -> String {
        self.try_line().await.expect("a living worker")
    }

    /// Tells it something. A dead one does not hear it.
    pub async fn tell(&mut self, line: &str) {
        let line = format!("{line}\n");
        let _ = self.input.write_all(line.as_bytes()).await;
    }

    /// Lets it go on from a point or a charge.
    async fn answer(&mut self, line: &str) {
        match line.strip_prefix("charge ") {
            Some(key) => self.tell(&format!("r_{key}")).await,
            None => self.tell("go").await,
        }
    }

    /// Lets it go on to the end of its call, and gives its answer; nothing if it dies before.
    pub async fn try_end(&mut self) -> Option<String> {
        loop {
            let line = self.try_line().await?;
            if line.starts_with("done") || line.starts_with("failed") {
                return Some(line);
            }
            self.answer(&line).await;
        }
    }

    /// The same, of a worker that does not die.
    pub async fn end(&mut self) -> String {
        self.try_end().await.expect("a living worker")
    }

    /// Calls a job, and gives the answer.
    pub async fn call(&mut self, call: &str) -> String {
        self.tell(call).await;
        self.end().await
    }

    /// Calls a job, and lets it go on to a point: `at …` or `charge …`.
    pub async fn call_up_to(&mut self, call: &str, point: &str) {
        self.tell(call).await;
        loop {
            let line = self.line().await;
            if line.starts_with(point) {
                return;
            }
            assert!(
                !line.starts_with("done") && !line.starts_with("failed"),
                "{line} before {point}"
            );
            self.answer(&line).await;
        }
    }

    /// SIGKILL; what it said before is still heard.
    pub async fn kill(mut self) {
        self.child.start_kill().expect("a process");
        self.child.wait().await.expect("its end");
        while self.try_line().await.is_some() {}
    }

    /// SIGSTOP: it stands still, with all that it holds.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT: it goes on from where it was.
    pub fn wake(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(Pid::from_raw).expect("a living worker");
        kill_process(id, signal).expect("a process of ours");
    }
}
