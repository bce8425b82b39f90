//! The key's placeholders become values, or are reported where they stand in its text.

use proc_macro2::{Literal, TokenStream};
use syn::LitStr;

use super::KeyPiece;
use super::names::Names;
use crate::args::{Args, Slot};
use crate::function::Function;
use crate::problems::Problems;
use crate::template::{Lookalike, Piece, Placeholder, Template};

/// Reads the key's text, and reports what is wrong with it by itself.
pub(super) fn template(
    args: &Args,
    function: &Function,
    names: &Names,
    problems: &mut Problems,
) -> Template {
    let literal = match &args.key {
        Slot::Given(_, literal) => literal,
        Slot::Broken(_) => return Template::default(),
        Slot::Absent => {
            problems
                .report(&TokenStream::new(), "`key` is missing")
                .help(format!(
                    "write `#[idempotent({})]`",
                    ready_line(function, names)
                ));
            return Template::default();
        }
    };
    let text = literal.value();
    let mut template = Template::parse(&text);
    for flaw in template.flaws.drain(..) {
        let problem = problems.report(literal, flaw.message);
        if let Some(range) = flaw.range {
            problem.inside(&text, range);
        }
        if let Some(help) = flaw.help {
            problem.help(help);
        }
    }
    template
}

/// Finds the placeholders' names.
pub(super) fn pieces(
    args: &Args,
    template: Template,
    function: &Function,
    names: &Names,
    problems: &mut Problems,
) -> (Vec<KeyPiece>, Option<Literal>) {
    let Some(literal) = args.key.value() else {
        return (Vec::new(), None);
    };
    let before = problems.count();
    let text = literal.value();
    let format = format_string(literal, &template);
    let has_placeholders = template.placeholders().next().is_some();
    let misspelt = lookalikes(literal, &text, &template, names, problems);
    if args.once.is_given() {
        once(args, literal, &text, has_placeholders, problems);
    } else if !has_placeholders && !misspelt && !text.contains('<') {
        let message = match text.is_empty() {
            true => "the key is empty: every call would share it",
            false => "every call would share this one key",
        };
        problems
            .report(literal, message)
            .help(format!(
                "add a placeholder: `{}`",
                ready_line(function, names)
            ))
            .help("or say `once`, if this job runs once ever");
    }

    let mut pieces = Vec::new();
    let mut rest = template.pieces.into_iter().peekable();
    while let Some(piece) = rest.next() {
        match piece {
            Piece::Text(text) => pieces.push(KeyPiece::Text(text)),
            Piece::Placeholder(placeholder) => {
                let next = match rest.peek() {
                    Some(Piece::Text(text)) => text.chars().next(),
                    _ => None,
                };
                let found = names.get(&placeholder.root);
                let Some(name) = found else {
                    unknown(literal, &text, &placeholder, names, problems);
                    continue;
                };
                let value = name.value(placeholder.fields, literal.span());
                pieces.push(KeyPiece::Part(Box::new(value), next));
            }
        }
    }
    let format = format.filter(|_| problems.count() == before);
    (pieces, format)
}

fn once(args: &Args, literal: &LitStr, text: &str, placeholders: bool, problems: &mut Problems) {
    if placeholders {
        problems
            .report(
                &args.once.place(),
                "`once` is for a key without placeholders: a key with them runs once for each",
            )
            .help("leave out `once`, or the placeholders");
    } else if text.is_empty() {
        problems
            .report(literal, "the key is empty")
            .help("give this job's one run a name, such as `key = \"nightly\"`");
    }
}

fn unknown(
    literal: &LitStr,
    text: &str,
    placeholder: &Placeholder,
    names: &Names,
    problems: &mut Problems,
) {
    let problem = problems.report(literal, names.missing(&placeholder.root));
    problem.inside(text, placeholder.range.clone());
    if let Some(help) = names.suggestion(&placeholder.root) {
        problem.help(help);
    }
}

/// Reports placeholders of another notation: where the key has no placeholder and so must have
/// meant one, and where braces hold the name of an argument. (`urn:order:<id>` is no mistake, with
/// an argument `order` or without.)
fn lookalikes(
    literal: &LitStr,
    text: &str,
    template: &Template,
    names: &Names,
    problems: &mut Problems,
) -> bool {
    let none = template.placeholders().next().is_none() && !text.contains('<');
    let meant = |lookalike: &&Lookalike| {
        let name = lookalike.name.as_deref();
        let named = name.is_some_and(|name| names.get(name).is_some());
        let braced = text[lookalike.range.clone()].ends_with('}');
        named && braced || none && (named || braced || name.is_none())
    };
    let mut found = false;
    for lookalike in template.lookalikes.iter().filter(meant) {
        let fallback = names.inputs().next().map(|name| name.text.clone());
        let name = lookalike.name.clone().or(fallback);
        let name = name.unwrap_or_else(|| "order_id".to_owned());
        problems
            .report(literal, format!("placeholders are written `<{name}>`"))
            .inside(text, lookalike.range.clone())
            .help(format!(
                "write `key = \"{}\"`",
                with(text, &lookalike.range, &name)
            ));
        found = true;
    }
    found
}

/// The text with a placeholder in the place of what looks like one.
fn with(text: &str, range: &std::ops::Range<usize>, name: &str) -> String {
    format!("{}<{name}>{}", &text[..range.start], &text[range.end..])
}

/// A key for this function, from its own name and arguments.
fn ready_line(function: &Function, names: &Names) -> String {
    let mut inputs = names.inputs().map(|name| name.text.as_str());
    let all: Vec<&str> = inputs.by_ref().collect();
    let best = all.iter().find(|name| name.ends_with("id")).or(all.first());
    let job = function.name();
    match best {
        Some(name) => format!("key = \"{job}_<{name}>\""),
        None => format!("key = \"{job}\", once"),
    }
}

/// The key as a format string of the same width, if it is one: `order_{order_id}` for
/// `order_<order_id>`. Editors then see the arguments inside the key; the compiler never does.
fn format_string(literal: &LitStr, template: &Template) -> Option<Literal> {
    let source = literal.token().to_string();
    let placeholders = template.placeholders();
    let plain = template.placeholders().all(|placeholder| {
        placeholder.fields.is_empty()
            && placeholder.root != "self"
            && !placeholder.root.starts_with('_')
    });
    let count = placeholders.count();
    let same = |character: char| source.matches(character).count() == count;
    if !plain || source.contains(['{', '}']) || !same('<') || !same('>') {
        return None;
    }
    let mut format: Literal = source.replace('<', "{").replace('>', "}").parse().ok()?;
    format.set_span(literal.span());
    Some(format)
}
