//! Processes of the proof: this program again, a line of JSON a message over its standard streams.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Result;

/// Nothing here takes so long; a process that is silent for so long hangs, and is a failure.
const SILENCE: Duration = Duration::from_secs(40);

/// In a child: tells the parent.
pub fn say(message: &impl Serialize) {
    let mut line = serde_json::to_vec(message).expect("messages are plain data");
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

/// In a child: what the parent says, until it closes the pipe or is gone.
pub struct Heard(mpsc::UnboundedReceiver<String>);

impl Heard {
    /// Listens from here on; on a thread, which does not keep a process that is about to end.
    #[must_use]
    pub fn new() -> Self {
        let (lines, heard) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut read = std::io::stdin().lines().map_while(std::io::Result::ok);
            read.try_for_each(|line| lines.send(line))
        });
        Self(heard)
    }

    /// The next message; `None` when there will be none.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Option<T> {
        let line = self.0.recv().await?;
        Some(serde_json::from_str(&line).expect("the parent speaks the same language"))
    }
}

impl Default for Heard {
    fn default() -> Self {
        Self::new()
    }
}

/// In the parent: a child process. Dropped, it is killed.
pub struct Peer {
    pid: Pid,
    child: Child,
    to: Ears,
    from: Lines<BufReader<ChildStdout>>,
}

/// The end of the pipe that a child listens to.
pub struct Ears(ChildStdin);

/// The end of the pipe that a child speaks into, and the child.
pub struct Mouth {
    child: Child,
    from: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts this program again.
    pub fn start(args: &[String], without: Option<&str>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        if let Some(rule) = without {
            command.env("IDEMPOTENT_WITHOUT", rule);
        }
        let mut child = command.spawn()?;
        let to = child.stdin.take().ok_or("no pipe to the child")?;
        let from = child.stdout.take().ok_or("no pipe from the child")?;
        let pid = child.id().ok_or("the child is gone already")?;
        Ok(Self {
            pid: Pid::from_raw(i32::try_from(pid)?),
            child,
            to: Ears(to),
            from: BufReader::new(from).lines(),
        })
    }

    /// Tells the child. One that is dead does not hear it, and its silence will show.
    pub async fn say(&mut self, message: &impl Serialize) -> Result<()> {
        self.to.say(message).await
    }

    /// The next message; `None` when the child is dead.
    pub async fn hear<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        match timeout(SILENCE, self.from.next_line()).await {
            Ok(Ok(Some(line))) => Ok(Some(serde_json::from_str(&line)?)),
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(format!("a process is silent for {SILENCE:?}").into()),
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(self.pid, signal);
    }

    /// Waits until the child stands still after a SIGSTOP.
    pub async fn has_stopped(&self) -> Result<()> {
        let stat = format!("/proc/{}/stat", self.pid);
        for _ in 0..5_000 {
            let line = tokio::fs::read_to_string(&stat).await?;
            // "pid (name) state …"; the name may have parentheses of its own.
            let state = line
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next());
            if state == Some('T') {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Err("a process does not stop".into())
    }

    /// Closes the pipe, which ends the child, and waits for it.
    pub async fn end(self) -> Result<()> {
        let Self { mut child, to, .. } = self;
        drop(to);
        match timeout(SILENCE, child.wait()).await {
            Ok(done) => done.map(drop).map_err(Into::into),
            Err(_) => Err("a process does not end".into()),
        }
    }

    /// Kills the child, and waits until it is gone.
    pub async fn kill(mut self) -> Result<()> {
        self.signal(Signal::SIGCONT);
        self.child.kill().await.map_err(Into::into)
    }

    /// Takes the two directions apart, to listen in a task of its own.
    #[must_use]
    pub fn split(self) -> (Pid, Ears, Mouth) {
        let mouth = Mouth {
            child: self.child,
            from: self.from,
        };
        (self.pid, self.to, mouth)
    }
}

impl Ears {
    /// Tells the child.
    pub async fn say(&mut self, message: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.0.write_all(&line).await.map_err(Into::into)
    }
}

impl Mouth {
    /// The next message; `None` when the child is dead, and has been waited for.
    pub async fn hear<T: DeserializeOwned>(&mut self) -> Option<T> {
        if let Ok(Some(line)) = self.from.next_line().await {
            return serde_json::from_str(&line).ok();
        }
        let _ = self.child.wait().await;
        None
    }
}
