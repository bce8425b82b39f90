//! What a test needs of the machine, and may not find there.

use std::path::PathBuf;

/// Something that a test cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// A server, which this variable names.
    Server(&'static str),
    /// A program.
    Program(&'static str),
}

impl Need {
    /// Why a test that needs it cannot run, if it cannot.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        match *self {
            Self::Nothing => None,
            Self::Server(variable) => std::env::var_os(variable)
                .is_none()
                .then(|| format!("{variable} is not set")),
            Self::Program(name) => program(name)
                .is_none()
                .then(|| format!("{name} is not installed")),
        }
    }

    /// Whether all that is missing is a failure.
    #[must_use]
    pub fn is_ci() -> bool {
        std::env::var("CI").is_ok_and(|ci| ci == "true")
    }
}

/// Where a program is: on the path, or where Debian keeps it.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
