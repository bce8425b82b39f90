//! A package of its own, below the target folder, that uses the runtime as a user's would: for what
//! is asked of the compiler itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// The package.
#[derive(Debug)]
pub struct Project {
    folder: PathBuf,
}

impl Project {
    /// Makes the package, or brings it up to date: a file that is as it was stays as it was, so that
    /// cargo need not compile it again.
    ///
    /// `dependencies` are lines of a manifest; the versions are those of this workspace. `files` are
    /// below `src/`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(name: &str, dependencies: &str, files: &[(String, String)]) -> io::Result<Self> {
        let folder = target()?.join("tests").join(name);
        fs::create_dir_all(&folder)?;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
             [dependencies]\n{dependencies}\n[workspace]\n"
        );
        write(&folder.join("Cargo.toml"), &manifest)?;
        for name in ["Cargo.lock", "rust-toolchain.toml"] {
            fs::copy(workspace().join(name), folder.join(name))?;
        }
        let sources = folder.join("src");
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| (sources.join(name), text))
            .collect();
        remove_others(&sources, &|path| files.iter().any(|(file, _)| file == path))?;
        for (path, text) in &files {
            write(path, text)?;
        }
        Ok(Self { folder })
    }

    /// The path of a file below `src/`.
    #[must_use]
    pub fn source(&self, name: &str) -> PathBuf {
        self.folder.join("src").join(name)
    }

    /// The folder that it is built in.
    #[must_use]
    pub fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// A command of cargo's on the package; with nothing of this process's own flags in it.
    #[must_use]
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let (subcommand, rest) = arguments.split_at(1);
        command
            .args(subcommand)
            .arg("--offline")
            .args(rest)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.target())
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .stdin(Stdio::null());
        command
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Removes the files that an older run left.
fn remove_others(folder: &Path, meant: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => remove_others(&path, meant)?,
            false if !meant(&path) => fs::remove_file(path)?,
            false => {}
        }
    }
    Ok(())
}

/// The root of this workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.unwrap_or_else(|| Path::new("."))
}

/// The folder that cargo builds this workspace in: the one above this program that has its mark.
fn target() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").exists();
    let target = program.ancestors().skip(1).find(marked);
    target
        .map(Path::to_path_buf)
        .ok_or_else(|| io::Error::other("this program is in no target folder of cargo's"))
}
