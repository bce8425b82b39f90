//! The test that runs this process: it hears points, is the gateway, and decides when to go on.

use std::io::{BufRead as _, Write as _};

use tokio::sync::{Mutex, mpsc};

/// The other end of the pipes.
#[derive(Debug)]
pub struct Outside {
    lines: Mutex<mpsc::UnboundedReceiver<String>>,
}

impl Outside {
    /// Listens on a thread of its own, which ends the process when there is nobody any more.
    pub fn new() -> Self {
        let (heard, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let _ = heard.send(line);
            }
            std::process::exit(0);
        });
        Self {
            lines: Mutex::new(lines),
        }
    }

    /// Says a line.
    pub fn say(&self, line: &str) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}")
            .and_then(|()| out.flush())
            .expect("a reader");
    }

    /// Hears the next line.
    pub async fn hear(&self) -> String {
        let mut lines = self.lines.lock().await;
        lines.recv().await.expect("a listening thread")
    }

    /// Announces a point, and stays there until it is told to go on.
    pub async fn at(&self, point: &str) {
        self.say(&format!("at {point}"));
        assert_eq!(self.hear().await, "go");
    }

    /// Charges, and waits for the receipt.
    pub async fn charge(&self, key: &str) -> String {
        self.say(&format!("charge {key}"));
        self.hear().await
    }
}
