//! Mistakes in a job's body. Each file is compiled twice, as it stands and without the attribute.

use super::{file, read};

/// One file below `ui/body/`, without a caller.
#[derive(Debug)]
pub struct Body {
    pub name: String,
    source: String,
}

/// With the attribute, or without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum As {
    Job,
    Plain,
}

/// Where a file says how it is called; it is awaited once, otherwise.
const CALLED: &str = "// Called as: ";
const NOT_CALLED: &str = "// Not called.";

/// All of them, by name.
///
/// # Panics
/// If `ui/body/` cannot be read.
#[must_use]
pub fn all() -> Vec<Body> {
    let folder = std::fs::read_dir(file("ui/body")).expect("the bodies can be listed");
    let mut found: Vec<Body> = folder
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy();
            Body {
                name: name.into_owned(),
                source: read(&path),
            }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Body {
    /// A program of it: the same lines in both, but for the attribute, and the type of what the
    /// caller passes.
    ///
    /// # Panics
    /// If the file has no line with the attribute alone.
    #[must_use]
    pub fn program(&self, kind: As) -> String {
        let mut lines: Vec<&str> = self.source.lines().collect();
        let attribute = lines
            .iter_mut()
            .find(|line| line.starts_with("#[idempotent("))
            .expect("an attribute on a line of its own");
        if kind == As::Plain {
            *attribute = "";
        }
        let caller = self.caller(kind);
        format!("{}\n{caller}\nfn main() {{}}\n", lines.join("\n"))
    }

    fn caller(&self, kind: As) -> String {
        if self.source.contains(NOT_CALLED) {
            return String::new();
        }
        let said = self
            .source
            .lines()
            .find_map(|line| line.strip_prefix(CALLED));
        let call = said.unwrap_or("charge(place, 42)");
        let place = match kind {
            As::Job => "SqliteStore",
            As::Plain if self.source.contains("job: &mut Job") => "mut Job<'static, Sqlite>",
            As::Plain => "mut SqliteConnection",
        };
        format!(
            "#[allow(dead_code, clippy::all, clippy::pedantic, clippy::nursery)]\n\
             async fn caller(\n    place: &'static {place},\n) {{\n    let _ = {call}.await;\n}}\n"
        )
    }
}
