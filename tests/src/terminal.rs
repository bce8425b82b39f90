//! A terminal, for what is drawn on one only.

use std::fs::File;
use std::io::{self, Read as _};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Its two ends.
#[derive(Debug)]
pub struct Terminal {
    /// Where it is seen.
    pub ours: Screen,
    /// For a program to write to.
    pub theirs: File,
}

/// Where what is written to a terminal is seen.
#[derive(Debug)]
pub struct Screen(File);

impl Terminal {
    /// A new one.
    pub fn open() -> io::Result<Self> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let name = name.into_string().map_err(io::Error::other)?;
        let theirs = File::options().read(true).write(true).open(name)?;
        Ok(Self {
            ours: Screen(ours.into()),
            theirs,
        })
    }
}

impl Screen {
    /// All that is written, until the other end is closed everywhere.
    #[must_use]
    pub fn shown(mut self) -> String {
        let (mut shown, mut part) = (Vec::new(), [0; 4096]);
        // Reading fails when the last other end is closed.
        while let Ok(read @ 1..) = self.0.read(&mut part) {
            shown.extend_from_slice(&part[..read]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    }
}
