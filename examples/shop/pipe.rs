//! Parent and child talk over the child's standard streams, one line of JSON a
//! message. This is both ends of it, and what keeps children from outliving
//! their parent.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Nothing here takes anywhere near as long; a child that is silent for so long hangs.
const SILENCE: Duration = Duration::from_mins(1);

/// In a child: tells the parent. A parent that is gone is noticed by [`Heard`].
pub fn say(message: &impl Serialize) {
    let mut line = serde_json::to_vec(message).expect("messages are plain data");
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

/// In a child: what the parent says, until it closes the pipe or dies.
pub struct Heard(mpsc::UnboundedReceiver<String>);

impl Heard {
    /// Listens from here on. On a thread, which, unlike a read of tokio's, does
    /// not keep a process that is about to end.
    pub fn new() -> Self {
        let (lines, heard) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut read = std::io::stdin().lines().map_while(Result::ok);
            read.try_for_each(|line| lines.send(line))
        });
        Self(heard)
    }

    /// The next message; None when there will be none.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let line = self.0.recv().await;
        Ok(line.map(|line| serde_json::from_str(&line)).transpose()?)
    }
}

/// In the parent: a child process.
pub struct Peer {
    name: &'static str,
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts this program again with `args`. The child is killed when the `Peer`
    /// is dropped, and ends by itself when the parent is killed.
    pub fn start(name: &'static str, args: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // A Ctrl-C is for the parent, which ends its children in order.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start the {name}"))?;
        let to = child.stdin.take().context("no pipe to the child")?;
        let from = child.stdout.take().context("no pipe from the child")?;
        Ok(Self {
            name,
            child,
            to,
            from: BufReader::new(from).lines(),
        })
    }

    pub async fn say(&mut self, message: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.to
            .write_all(&line)
            .await
            .with_context(|| format!("the {} does not listen", self.name))
    }

    /// The next message. Dropping the future loses none.
    pub async fn hear<T: DeserializeOwned>(&mut self) -> Result<T> {
        let name = self.name;
        match timeout(SILENCE, self.from.next_line()).await {
            Ok(Ok(Some(line))) => serde_json::from_str(&line)
                .with_context(|| format!("the {name} says what nobody understands")),
            Ok(Ok(None)) => bail!("the {name} ended by itself: {}", self.child.wait().await?),
            Ok(Err(error)) => Err(error).with_context(|| format!("the {name} cannot be heard")),
            Err(_) => bail!("the {name} has been silent for {SILENCE:?}"),
        }
    }

    /// Kills the process (SIGKILL) and waits until it is gone.
    pub async fn kill(mut self) -> Result<ExitStatus> {
        self.child.start_kill()?;
        Ok(self.child.wait().await?)
    }

    /// Closes the pipe, which ends the child, and waits for it.
    pub async fn stop(self) -> Result<()> {
        let Self {
            name,
            mut child,
            to,
            from,
        } = self;
        drop((to, from));
        let status = timeout(SILENCE, child.wait())
            .await
            .with_context(|| format!("the {name} does not stop"))??;
        if !status.success() {
            bail!("the {name} ended badly: {status}");
        }
        Ok(())
    }
}
