//! What the compiler tells of a program, read from the JSON that cargo passes on.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// A message, with what is below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Message {
    pub level: String,
    pub code: Option<Code>,
    pub message: String,
    pub spans: Vec<Span>,
    pub children: Vec<Self>,
}

/// `E0308`, `unused_variables`, `clippy::needless_return`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Code {
    pub code: String,
}

/// A place, and what is said there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Span {
    pub file_name: String,
    pub line_start: usize,
    pub column_start: usize,
    pub line_end: usize,
    pub column_end: usize,
    pub is_primary: bool,
    pub label: Option<String>,
    pub suggested_replacement: Option<String>,
    /// Whether a macro made what is there.
    #[serde(rename = "expansion", default, deserialize_with = "is_some")]
    pub in_a_macro: bool,
}

fn is_some<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    let value = Option::<IgnoredAny>::deserialize(from)?;
    Ok(value.is_some())
}

#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line {
    CompilerMessage {
        target: Target,
        message: Message,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// The messages of each target; without the compiler's sums, which have no place.
///
/// # Errors
/// If it is not what cargo prints with `--message-format=json`.
pub fn by_target(json: &[u8]) -> serde_json::Result<BTreeMap<String, Vec<Message>>> {
    let mut found = BTreeMap::<String, Vec<Message>>::new();
    for line in serde_json::Deserializer::from_slice(json).into_iter::<Line>() {
        if let Line::CompilerMessage { target, message } = line? {
            let messages = found.entry(target.name).or_default();
            if !message.spans.is_empty() {
                messages.push(message);
            }
        }
    }
    for messages in found.values_mut() {
        messages.sort();
        messages.dedup();
    }
    Ok(found)
}

impl Message {
    /// The same message, with `from` replaced by `to` wherever it is said.
    #[must_use]
    pub fn replaced(&self, from: &str, to: &str) -> Self {
        let text = |text: &String| text.replace(from, to);
        Self {
            level: self.level.clone(),
            code: self.code.clone(),
            message: text(&self.message),
            spans: self
                .spans
                .iter()
                .map(|span| Span {
                    file_name: text(&span.file_name),
                    label: span.label.as_ref().map(text),
                    ..span.clone()
                })
                .collect(),
            children: self
                .children
                .iter()
                .map(|child| child.replaced(from, to))
                .collect(),
        }
    }

    /// Line by line: what it is, and each place.
    pub fn lines(&self) -> Vec<String> {
        let code = self.code.as_ref().map_or("", |code| &code.code);
        let mut lines = vec![format!("{}[{code}]: {}", self.level, self.message)];
        lines.extend(self.spans.iter().map(|span| format!("  {span}")));
        let below = self.children.iter().flat_map(Self::lines);
        lines.extend(below.map(|line| format!("  {line}")));
        lines
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file_name,
            line_start,
            column_start,
            line_end,
            column_end,
            ..
        } = self;
        let primary = if self.is_primary { "*" } else { "" };
        write!(
            f,
            "at {file_name}:{line_start}:{column_start}-{line_end}:{column_end}{primary}"
        )?;
        if self.in_a_macro {
            f.write_str(" (in a macro)")?;
        }
        if let Some(label) = &self.label {
            write!(f, " {label}")?;
        }
        if let Some(replacement) = &self.suggested_replacement {
            write!(f, " -> {replacement:?}")?;
        }
        Ok(())
    }
}
