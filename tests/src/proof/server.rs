//! Throwaway database servers, in a temporary folder, on loopback; to be restarted at will.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::proof::Result;

/// A server of its own.
pub struct Server {
    folder: TempDir,
    port: u16,
    which: Which,
    user: Option<(u32, u32)>,
    /// PostgreSQL's settings, each `name=value`.
    settings: Vec<&'static str>,
    /// MariaDB's process; PostgreSQL's is looked after by `pg_ctl`.
    child: Option<Child>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Postgres,
    MariaDb,
}

impl Server {
    /// A server for a database, by its name; `None` where it has none.
    pub async fn of(database: &str) -> Result<Option<Self>> {
        match database {
            "postgres" => Self::postgres().await.map(Some),
            "mysql" => Self::mariadb().await.map(Some),
            _ => Ok(None),
        }
    }

    /// A PostgreSQL server.
    pub async fn postgres() -> Result<Self> {
        // The machine does not crash, only the server: nothing need reach the disk.
        Self::postgres_with(&["fsync=off"]).await
    }

    /// A PostgreSQL server with settings, each `name=value`.
    pub async fn postgres_with(settings: &[&'static str]) -> Result<Self> {
        let mut server = Self::new(Which::Postgres, "postgres")?;
        server.settings = settings.to_vec();
        let data = server.data();
        server
            .run(
                "initdb",
                &["-D", &data, "-A", "trust", "-U", "proof", "--no-sync"],
            )
            .await?;
        server.start().await?;
        Ok(server)
    }

    /// A MariaDB server.
    pub async fn mariadb() -> Result<Self> {
        let mut server = Self::new(Which::MariaDb, "mysql")?;
        let data = format!("--datadir={}", server.data());
        let temporary = server.temporary();
        server
            .run(
                "mariadb-install-db",
                &[
                    "--no-defaults",
                    &data,
                    &temporary,
                    "--skip-test-db",
                    "--auth-root-authentication-method=normal",
                ],
            )
            .await?;
        let init = server.folder.path().join("init.sql");
        let text = "CREATE DATABASE IF NOT EXISTS proof; \
                    CREATE USER IF NOT EXISTS 'proof'@'%' IDENTIFIED BY 'proof'; \
                    GRANT ALL ON *.* TO 'proof'@'%' WITH GRANT OPTION;";
        std::fs::write(&init, text.replace("; ", ";\n"))?;
        server.start().await?;
        Ok(server)
    }

    fn new(which: Which, user: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("proof-").tempdir()?;
        // Neither server runs as root.
        let user = match std::fs::metadata("/proc/self")?.uid() {
            0 => Some(ids(user)?),
            _ => None,
        };
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid))?;
        }
        Ok(Self {
            folder,
            port: free_port()?,
            which,
            user,
            settings: Vec::new(),
            child: None,
        })
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// A folder of its own for temporary tables: a MariaDB that starts removes those of every other
    /// one from the folder that they share; a statement that misses its own fails, and one in the
    /// catalogue has crashed the server.
    fn temporary(&self) -> String {
        format!("--tmpdir={}", self.folder.path().display())
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its database, through a port.
    #[must_use]
    pub fn url(&self, port: u16) -> String {
        match self.which {
            Which::Postgres => format!("postgres://proof@127.0.0.1:{port}/postgres"),
            Which::MariaDb => format!("mysql://proof:proof@127.0.0.1:{port}/proof"),
        }
    }

    async fn start(&mut self) -> Result<()> {
        let data = self.data();
        let log = self.folder.path().join("log").display().to_string();
        match self.which {
            Which::Postgres => {
                let mut options = format!(
                    "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories=",
                    self.port
                );
                for setting in &self.settings {
                    options.push_str(" -c ");
                    options.push_str(setting);
                }
                self.run(
                    "pg_ctl",
                    &["-D", &data, "-l", &log, "-o", &options, "-w", "-s", "start"],
                )
                .await
            }
            Which::MariaDb => {
                let folder = self.folder.path().display();
                let mut command = self.command("mariadbd");
                command.args([
                    "--no-defaults".to_owned(),
                    format!("--datadir={data}"),
                    self.temporary(),
                    format!("--port={}", self.port),
                    "--bind-address=127.0.0.1".to_owned(),
                    "--skip-name-resolve".to_owned(),
                    format!("--socket={folder}/socket"),
                    format!("--pid-file={folder}/pid"),
                    format!("--init-file={folder}/init.sql"),
                    format!("--log-error={log}"),
                    "--innodb-flush-log-at-trx-commit=2".to_owned(),
                ]);
                self.child = Some(command.kill_on_drop(true).spawn()?);
                Ok(())
            }
        }
    }

    /// Ends it as a crash would, and starts it again.
    pub async fn restart(&mut self) -> Result<()> {
        match self.which {
            Which::Postgres => {
                let data = self.data();
                self.run(
                    "pg_ctl",
                    &["-D", &data, "-m", "immediate", "-w", "-s", "stop"],
                )
                .await?;
            }
            Which::MariaDb => {
                if let Some(child) = &mut self.child {
                    child.kill().await?;
                }
            }
        }
        self.start().await
    }

    /// Starts PostgreSQL again as a standby, which takes no writes.
    pub async fn stand_by(&mut self) -> Result<()> {
        std::fs::write(self.folder.path().join("data/standby.signal"), "")?;
        self.restart().await
    }

    /// Ends that.
    pub async fn promote(&self) -> Result<()> {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "-s", "promote"])
            .await
    }

    /// Ends it for good.
    pub async fn stop(mut self) -> Result<()> {
        match (self.which, self.child.take()) {
            (Which::Postgres, _) => {
                let data = self.data();
                self.run(
                    "pg_ctl",
                    &["-D", &data, "-m", "immediate", "-w", "-s", "stop"],
                )
                .await
            }
            (Which::MariaDb, Some(mut child)) => child.kill().await.map_err(Into::into),
            (Which::MariaDb, None) => Ok(()),
        }
    }

    async fn run(&self, program: &str, args: &[&str]) -> Result<()> {
        let status = self.command(program).args(args).status().await?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("{program} {args:?}: {status}").into()),
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(find(program));
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.which == Which::Postgres {
            let mut command = std::process::Command::new(find("pg_ctl"));
            command.args(["-D", &self.data(), "-m", "immediate", "-s", "stop"]);
            command.stderr(Stdio::null()).stdout(Stdio::null());
            if let Some((uid, gid)) = self.user {
                use std::os::unix::process::CommandExt as _;
                command.uid(uid).gid(gid);
            }
            // Where it has been stopped, this finds nothing to do.
            let _ = command.status();
        }
    }
}

fn find(program: &str) -> PathBuf {
    // Starting it tells what is missing.
    crate::need::program(program).unwrap_or_else(|| program.into())
}

/// A user's number and group.
fn ids(user: &str) -> Result<(u32, u32)> {
    let passwd = std::fs::read_to_string("/etc/passwd")?;
    let line = passwd
        .lines()
        .find(|line| line.split(':').next() == Some(user))
        .ok_or_else(|| format!("there is no user {user} to run a server as"))?;
    let mut fields = line.split(':').skip(2);
    let mut number = || fields.next().and_then(|field| field.parse().ok());
    match (number(), number()) {
        (Some(uid), Some(gid)) => Ok((uid, gid)),
        _ => Err("a line of /etc/passwd has no numbers".into()),
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
