//! What is wrong, collected: every mistake once, each with the way to write it right.
//!
//! Only this module makes a [`syn::Error`]. The others report a message, where it belongs in the
//! user's code, and lines of help; nothing is reported "in general", and nothing stops at the
//! first mistake.

#[cfg(test)]
mod tests;

use std::ops::Range;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Problems {
    found: Vec<Problem>,
}

/// One mistake: what is wrong, where, and what helps.
pub(crate) struct Problem {
    place: TokenStream,
    message: String,
    drawing: Option<String>,
    help: Vec<String>,
}

impl Problems {
    /// Reports a mistake on the user's own tokens; no tokens means the attribute itself.
    pub(crate) fn report(
        &mut self,
        place: &impl ToTokens,
        message: impl Into<String>,
    ) -> &mut Problem {
        let at = self.found.len();
        self.found.push(Problem {
            place: place.to_token_stream(),
            message: message.into(),
            drawing: None,
            help: Vec::new(),
        });
        &mut self.found[at]
    }

    /// Reports what syn could not read, in syn's own words.
    pub(crate) fn report_syntax(&mut self, error: &syn::Error) {
        let message = error.to_string();
        let place = syn::Ident::new("here", error.span());
        self.report(&place, message);
    }

    /// Whether nothing is wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How many were found so far.
    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// The compile errors, in the order they were found.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.found
            .into_iter()
            .map(|problem| {
                syn::Error::new_spanned(&problem.place, problem.text()).into_compile_error()
            })
            .collect()
    }

    /// What would be shown, for tests.
    #[cfg(test)]
    pub(crate) fn texts(&self) -> Vec<String> {
        self.found.iter().map(Problem::text).collect()
    }
}

impl Problem {
    /// Adds a line that says how to write it right.
    pub(crate) fn help(&mut self, line: impl Into<String>) -> &mut Self {
        self.help.push(line.into());
        self
    }

    /// Draws `text` with carets under `range` (in bytes): a place inside a string literal has no
    /// span of its own on stable Rust.
    pub(crate) fn inside(&mut self, text: &str, range: Range<usize>) -> &mut Self {
        self.drawing = Some(underlined(text, range));
        self
    }

    fn text(&self) -> String {
        let mut text = self.message.clone();
        if let Some(drawing) = &self.drawing {
            text.push_str("\n\n");
            text.push_str(drawing);
            text.push('\n');
        }
        for line in &self.help {
            text.push_str("\nhelp: ");
            text.push_str(line);
        }
        text
    }
}

/// The text and a line of carets, aligned by characters; what cannot be shown on one line is
/// escaped, and the carets follow.
fn underlined(text: &str, range: Range<usize>) -> String {
    let (mut shown, mut before, mut under) = (String::new(), 0, 0);
    for (at, character) in text.char_indices() {
        let start = shown.chars().count();
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
        let width = shown.chars().count() - start;
        if at < range.start {
            before += width;
        } else if at < range.end {
            under += width;
        }
    }
    let carets = "^".repeat(under.max(1));
    format!("  {shown}\n  {:before$}{carets}", "")
}

/// The candidate that `name` was probably meant to be.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let near = |candidate: &&str| {
        let distance = strsim::damerau_levenshtein(name, candidate);
        let half_typed = name.len() >= 2 && candidate.starts_with(name);
        (half_typed || distance <= 1 + name.chars().count() / 4).then_some(distance)
    };
    candidates
        .into_iter()
        .filter_map(|candidate| near(&candidate).map(|distance| (distance, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Tokens as a user would write them: without the spaces that printing tokens puts between them.
pub(crate) fn code(tokens: impl ToTokens) -> String {
    let mut code = tokens.to_token_stream().to_string();
    for (spaced, close) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
        (" (", "("),
        (" !", "!"),
        (" ;", ";"),
    ] {
        code = code.replace(spaced, close);
    }
    code
}

/// Names as they stand in a sentence: `` `a`, `b` ``.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
