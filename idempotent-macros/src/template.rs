//! The key's text: literal text and `<placeholders>`, with `<<` for a literal `<`.
//!
//! It knows no functions: whether a name exists is for [`resolve`](crate::resolve) to say. Ranges
//! are in bytes of the text, so that a mistake can be drawn under it.

#[cfg(test)]
mod tests;

use std::ops::Range;

use syn::Ident;
use syn::ext::IdentExt;
use syn::parse::Parser;

/// A key's text, taken apart; what is wrong with it stands beside what could still be read.
#[derive(Debug, Default)]
pub(crate) struct Template {
    /// The pieces, in order; no two texts are neighbours.
    pub(crate) pieces: Vec<Piece>,
    /// What is wrong.
    pub(crate) flaws: Vec<Flaw>,
    /// What looks like a placeholder of another notation; the function's names decide.
    pub(crate) lookalikes: Vec<Lookalike>,
}

/// A piece of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text, never empty.
    Text(String),
    /// `<order.id>`.
    Placeholder(Placeholder),
}

/// A name, or fields of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    /// The name before the first dot, without `r#`.
    pub(crate) root: String,
    /// The fields after it; numbers in tuples.
    pub(crate) fields: Vec<String>,
    /// Where it stands, angle brackets included.
    pub(crate) range: Range<usize>,
}

/// What is wrong with a key's text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// None where it is the whole text.
    pub(crate) range: Option<Range<usize>>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// A placeholder of another notation, such as `{order_id}`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lookalike {
    pub(crate) range: Range<usize>,
    /// The name inside; none in `%s`.
    pub(crate) name: Option<String>,
}

/// Keys longer than this end in a digest; a template that is longer than this by itself would
/// leave nothing of its placeholders to read.
pub(crate) const LONGEST: usize = 255;

impl Template {
    /// Takes a key's text apart.
    pub(crate) fn parse(text: &str) -> Self {
        let mut template = Self::default();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(offset) = text[at..].find('<') {
            let open = at + offset;
            literal.push_str(&text[at..open]);
            if text[open + 1..].starts_with('<') {
                literal.push('<');
                at = open + 2;
                continue;
            }
            template.flush(&mut literal);
            at = template.placeholder(text, open);
        }
        literal.push_str(&text[at..]);
        template.flush(&mut literal);
        template.check_length();
        template.lookalikes = lookalikes(text);
        template
    }

    /// The placeholders, in order.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(placeholder) => Some(placeholder),
            Piece::Text(_) => None,
        })
    }

    fn flush(&mut self, literal: &mut String) {
        if !literal.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(literal)));
        }
    }

    fn flaw(&mut self, range: Range<usize>, message: String, help: Option<String>) {
        self.flaws.push(Flaw {
            range: Some(range),
            message,
            help,
        });
    }

    /// Reads the placeholder that opens at `open`, and returns where the text goes on.
    fn placeholder(&mut self, text: &str, open: usize) -> usize {
        let rest = &text[open + 1..];
        let close = rest.find('>');
        let next = rest.find('<');
        let close = match (close, next) {
            (Some(close), Some(next)) if next < close => None,
            (close, _) => close,
        };
        let Some(close) = close else {
            let end = next.map_or(text.len(), |next| open + 1 + next);
            let name: String = rest.chars().take_while(|c| is_name(*c)).collect();
            let help = if name.is_empty() {
                "a literal `<` is written `<<`".to_owned()
            } else {
                format!("close it: `<{name}>`; a literal `<` is written `<<`")
            };
            self.flaw(
                open..end,
                "this placeholder is never closed".to_owned(),
                Some(help),
            );
            return end;
        };
        let content = &rest[..close];
        let range = open..open + close + 2;
        let end = range.end;
        if matches!(self.pieces.last(), Some(Piece::Placeholder(_))) {
            self.flaw(
                range.clone(),
                "two placeholders need text between them".to_owned(),
                Some(
                    "without it, `12` and `3` make the same key as `1` and `23`: \
                     put a character such as `_` between"
                        .to_owned(),
                ),
            );
        }
        self.name(content, range);
        end
    }

    /// Reads what stands between the angle brackets.
    fn name(&mut self, content: &str, range: Range<usize>) {
        let trimmed = content.trim();
        if trimmed.is_empty() {
            return self.flaw(
                range,
                "this placeholder is empty".to_owned(),
                Some("name an argument: `<order_id>`; a literal `<` is written `<<`".to_owned()),
            );
        }
        let mut names = trimmed
            .split('.')
            .map(|name| name.strip_prefix("r#").unwrap_or(name));
        let root = names.next().unwrap_or_default().to_owned();
        let fields: Vec<String> = names.map(str::to_owned).collect();
        if !is_identifier(&root) || !fields.iter().all(|field| is_field(field)) {
            return self.flaw(
                range,
                format!("`<{trimmed}>` is neither an argument nor a field of one"),
                Some(
                    "a placeholder names an argument, `<order_id>`, or its fields, `<order.id>`: \
                     compute anything else before the call, and pass it as an argument"
                        .to_owned(),
                ),
            );
        }
        if trimmed.len() != content.len() {
            self.flaw(
                range.clone(),
                "a placeholder has no spaces inside".to_owned(),
                Some(format!("write `<{trimmed}>`")),
            );
        }
        self.pieces.push(Piece::Placeholder(Placeholder {
            root,
            fields,
            range,
        }));
    }

    fn check_length(&mut self) {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Placeholder(_) => 1,
        });
        let length: usize = texts.sum();
        if length > LONGEST {
            self.flaws.push(Flaw {
                range: None,
                message: format!(
                    "the text of this key is {length} bytes long; a key has at most {LONGEST}"
                ),
                help: Some(
                    "what follows would be lost in the digest that a long key ends in".to_owned(),
                ),
            });
        }
    }
}

/// Finds `{name}`, `#{name}`, `${name}`, `:name`, `$name`, `%s`, `%d` and `{}`.
fn lookalikes(text: &str) -> Vec<Lookalike> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let lookalike = lookalike(text, at);
        match lookalike {
            Some(lookalike) => {
                at = lookalike.range.end;
                found.push(lookalike);
            }
            None => at += character.len_utf8(),
        }
    }
    found
}

fn lookalike(text: &str, at: usize) -> Option<Lookalike> {
    let rest = &text[at..];
    let braced = rest
        .strip_prefix("#{")
        .or_else(|| rest.strip_prefix("${"))
        .or_else(|| rest.strip_prefix('{'));
    if let Some(inside) = braced {
        let (name, after) = inside.split_once('}')?;
        let name = (!name.is_empty()).then_some(name);
        if !name.is_none_or(is_identifier) {
            return None;
        }
        return Some(Lookalike {
            range: at..text.len() - after.len(),
            name: name.map(str::to_owned),
        });
    }
    if rest.starts_with("%s") || rest.starts_with("%d") {
        return Some(Lookalike {
            range: at..at + 2,
            name: None,
        });
    }
    let named = rest.strip_prefix(':').or_else(|| rest.strip_prefix('$'))?;
    let length = named
        .find(|character| !is_name(character))
        .unwrap_or(named.len());
    is_identifier(&named[..length]).then(|| Lookalike {
        range: at..at + 1 + length,
        name: Some(named[..length].to_owned()),
    })
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// An identifier of Rust. Outside ASCII, only a lexer knows.
fn is_identifier(name: &str) -> bool {
    let like_one = name.chars().all(is_name) && !name.starts_with(|c: char| c.is_numeric());
    let is_one = || Ident::parse_any.parse_str(name).is_ok();
    !name.is_empty() && like_one && (name.is_ascii() || is_one())
}

/// A field: a name, or the number of a tuple's, as Rust writes it.
fn is_field(name: &str) -> bool {
    let number = name.parse::<u32>();
    let reserved = ["_", "self", "Self", "super", "crate"].contains(&name);
    is_identifier(name) && !reserved || number.is_ok_and(|number| number.to_string() == name)
}
