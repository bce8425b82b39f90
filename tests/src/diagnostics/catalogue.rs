//! The catalogue of wrong use: what a row asks of the message, and which tests show it.

use serde::Deserialize;

use super::{file, read};

/// The topics, in the order in which a reader meets them.
const TOPICS: [&str; 7] = [
    "args", "template", "function", "types", "guard", "scope", "editors",
];

/// One file of the catalogue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// A heading of the documentation.
    pub title: String,
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

/// One row: some ways to be wrong that have one cause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// A heading of the documentation.
    pub title: String,
    /// What the message has to say.
    pub asks: String,
    /// Why it is wrong, for the documentation.
    pub why: String,
    /// What to write, for the documentation.
    pub fix: String,
    pub shown: Vec<Shown>,
}

/// One way to be wrong, and the test that shows it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// `<topic>/<name>`, below `ui/fail/`; in the file, the name alone where the topic is its own.
    pub test: String,
    /// What is wrong, as the test's file has it.
    pub code: String,
    /// What the row asks for, in the words of the `.stderr`.
    pub phrases: Vec<String>,
    /// How many errors are intended: one for each rule that is broken.
    #[serde(default = "one")]
    pub errors: usize,
    /// Which rules these are, where there are several.
    #[serde(default)]
    pub rules: Option<String>,
    /// Why one of the errors is on the attribute as a whole, and not on tokens of the user's.
    #[serde(default)]
    pub on_the_attribute: Option<String>,
    /// The compiler says the same again in other places.
    #[serde(default)]
    pub repeated: bool,
}

const fn one() -> usize {
    1
}

/// The whole catalogue.
///
/// # Panics
/// If a file of it cannot be read.
#[must_use]
pub fn topics() -> Vec<Topic> {
    TOPICS.map(topic).into()
}

fn topic(name: &str) -> Topic {
    let path = file(&format!("ui/catalogue/{name}.toml"));
    let mut topic: Topic = toml::from_str(&read(&path))
        .unwrap_or_else(|error| panic!("{} is no part of a catalogue: {error}", path.display()));
    for shown in topic.rows.iter_mut().flat_map(|row| &mut row.shown) {
        if !shown.test.contains('/') {
            shown.test = format!("{name}/{}", shown.test);
        }
    }
    topic
}
