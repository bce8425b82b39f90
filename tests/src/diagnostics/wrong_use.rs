//! A test of wrong use: its source, and what the compiler says of it.

use super::{file, read};

/// One file below `ui/fail/`.
#[derive(Debug)]
pub struct WrongUse {
    /// `<topic>/<name>`
    pub name: String,
    pub source: String,
    /// `None` where the `.stderr` is missing.
    pub said: Option<Said>,
}

/// A `.stderr`.
#[derive(Debug)]
pub struct Said {
    pub text: String,
    pub errors: Vec<Told>,
}

/// One error of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    /// `E0277`, of the compiler's own and of a trait of ours; a message of the attribute has none.
    pub code: Option<String>,
    /// The first line, without `error: `.
    pub message: String,
    /// The lines below it, up to the place: what is drawn, and what helps.
    pub help: Vec<String>,
    /// Notes that are in our words.
    pub notes: Vec<String>,
}

/// All of them, by name.
///
/// # Panics
/// If `ui/fail/` cannot be read.
#[must_use]
pub fn all() -> Vec<WrongUse> {
    let mut found = Vec::new();
    let entries = |path: &std::path::Path| {
        let entries = std::fs::read_dir(path).expect("the tests of wrong use can be listed");
        entries.map(|entry| entry.expect("an entry").path())
    };
    for topic in entries(&file("ui/fail")) {
        for path in entries(&topic).filter(|path| path.extension().is_some_and(|ext| ext == "rs")) {
            let stem = |path: &std::path::Path| {
                path.file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned()
            };
            let stderr = path.with_extension("stderr");
            found.push(WrongUse {
                name: format!("{}/{}", stem(&topic), stem(&path)),
                source: read(&path),
                said: stderr.exists().then(|| Said::read(read(&stderr))),
            });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl WrongUse {
    /// Whether the file uses what stands under the attribute: that the call is right has to show.
    #[must_use]
    pub fn is_called(&self) -> bool {
        let Some(item) = self.item() else {
            return false;
        };
        let caller = self.source.find("fn caller(");
        caller.is_some_and(|at| words(&self.source[at..]).any(|word| word == item))
    }

    /// The name of what the attribute stands on.
    fn item(&self) -> Option<&str> {
        let at = self.source.find("#[idempotent")?;
        let mut words = words(&self.source[at..]);
        words.find(|word| ["fn", "struct", "trait", "mod"].contains(word))?;
        words.next()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let between = |character: char| !character.is_alphanumeric() && character != '_';
    text.split(between).filter(|word| !word.is_empty())
}

impl Said {
    /// Reads a `.stderr`.
    #[must_use]
    pub fn read(text: String) -> Self {
        let mut errors: Vec<Told> = Vec::new();
        let mut in_head = false;
        for line in text.lines() {
            if let Some(told) = Told::begin(line) {
                errors.push(told);
                in_head = true;
                continue;
            }
            let Some(last) = errors.last_mut() else {
                continue;
            };
            let shown = line.trim_start();
            in_head &= !shown.starts_with("-->");
            if in_head {
                last.help.push(line.to_owned());
            } else if let Some(note) = shown.strip_prefix("= note: ")
                && !note.contains("this error originates in")
            {
                last.notes.push(note.to_owned());
            }
        }
        Self { text, errors }
    }

    /// How many errors there are, where one that is said again counts once.
    #[must_use]
    pub fn different_errors(&self) -> usize {
        let seen = |at: usize| {
            let same = |told: &&Told| told.message == self.errors[at].message;
            self.errors[..at].iter().any(|told| same(&told))
        };
        (0..self.errors.len()).filter(|at| !seen(*at)).count()
    }
}

impl Told {
    fn begin(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("error")?;
        let (code, message) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (code, message) = rest.split_once("]: ")?;
                (Some(code.to_owned()), message)
            }
            None => (None, rest.strip_prefix(": ")?),
        };
        Some(Self {
            code,
            message: message.to_owned(),
            help: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// The first line, as it stands in the `.stderr`.
    #[must_use]
    pub fn first_line(&self) -> String {
        match &self.code {
            Some(code) => format!("error[{code}]: {}", self.message),
            None => format!("error: {}", self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "\
error[E0277]: `f64` cannot be part of a key
 --> ui/fail/types/x.rs:3:1
  |
3 | f64
  | ^^^ not a key part
  |
  = help: the trait `KeyPart` is not implemented for `f64`
  = note: a key part is an integer

error: `key` is missing
       help: write it
 --> ui/fail/types/x.rs:3:1
  |
  = note: this error originates in the attribute macro `idempotent`
";

    #[test]
    fn a_stderr_is_read() {
        let said = Said::read(TWO.to_owned());
        assert_eq!(said.different_errors(), 2);
        let [first, second] = &said.errors[..] else {
            panic!("{:?}", said.errors);
        };
        assert_eq!(first.code.as_deref(), Some("E0277"));
        assert_eq!(first.notes, ["a key part is an integer"]);
        assert_eq!(second.first_line(), "error: `key` is missing");
        assert_eq!(second.help, ["       help: write it"]);
        assert!(second.notes.is_empty());
    }

    #[test]
    fn an_error_that_is_said_again_counts_once() {
        let said = Said::read(TWO.repeat(2));
        assert_eq!((said.errors.len(), said.different_errors()), (4, 2));
    }

    #[test]
    fn a_file_that_does_not_call_is_found() {
        let wrong_use = |source: &str| WrongUse {
            name: String::new(),
            source: source.to_owned(),
            said: None,
        };
        let job = "#[idempotent]\npub async fn charge(x: u8) {}\n";
        assert!(wrong_use(&format!("{job}fn caller() {{ charge(1) }}")).is_called());
        assert!(!wrong_use(&format!("{job}fn caller() {{ charged(1) }}")).is_called());
        assert!(!wrong_use(job).is_called());
    }
}
