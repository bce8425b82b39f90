//! Every argument is accounted for: it is in the key, fingerprinted, or said to be neither.

use syn::Type;
use syn::ext::IdentExt;

use super::KeyPiece;
use super::names::{Name, Names, Role, Value};
use crate::args::Args;
use crate::function::{Function, mentions, peel};
use crate::problems::Problems;

/// Applies `inputs(…)` and `ignore(…)`.
pub(super) fn apply_lists(args: &Args, names: &mut Names, problems: &mut Problems) {
    let mut seen: Vec<String> = Vec::new();
    let inputs = args.inputs.value().into_iter().flatten();
    for ident in inputs {
        let text = ident.unraw().to_string();
        if names.find(ident, problems).is_none() {
            continue;
        }
        if seen.contains(&text) {
            problems.report(ident, format!("`{text}` is listed twice"));
        }
        if let Some(name) = names.all.iter_mut().find(|name| name.text == text) {
            name.role = Role::Input;
        }
        seen.push(text);
    }
    for ident in args.ignore.value().into_iter().flatten() {
        let text = ident.unraw().to_string();
        if seen.contains(&text) {
            problems
                .report(ident, format!("`{text}` is listed twice"))
                .help("an argument is an input or ignored, once");
        }
        // What is not found here may be a type parameter: the generics are looked at later.
        if let Some(name) = names.all.iter_mut().find(|name| name.text == text) {
            name.ignored = true;
        }
        seen.push(text);
    }
}

/// A reference whose field is in the key says nothing of the rest of what it points to.
pub(super) fn check_references(
    key: &[KeyPiece],
    names: &Names,
    args: &Args,
    problems: &mut Problems,
) {
    let listed = |text: &str| {
        let ignored = args.ignore.value().into_iter().flatten();
        let inputs = args.inputs.value().into_iter().flatten();
        ignored.chain(inputs).any(|name| name.unraw() == text)
    };
    let mut reported: Vec<&str> = Vec::new();
    for name in names
        .all
        .iter()
        .filter(|name| name.role == Role::Dependency)
    {
        let text = name.text.as_str();
        if listed(text) || reported.contains(&text) || whole(key, text) {
            continue;
        }
        let field = parts(key).find(|value| value.root == text && !value.fields.is_empty());
        if let Some(field) = field {
            problems
                .report(
                    name.ident(),
                    format!(
                        "`{}` is in the key, and `{text}` is a reference",
                        field.name
                    ),
                )
                .help(format!(
                    "`inputs({text})` if the rest of it is part of the work, \
                     `ignore({text})` if it is not"
                ));
            reported.push(text);
        }
    }
    check_destructured(key, names, &listed, problems);
}

/// The same for `Order { id, amount }: &Order`: one name in the key asks about the others.
fn check_destructured(
    key: &[KeyPiece],
    names: &Names,
    listed: &dyn Fn(&str) -> bool,
    problems: &mut Problems,
) {
    let by_reference = |name: &&Name| match &name.param {
        Some((_, ty)) => name.role == Role::Dependency && matches!(peel(ty), Type::Reference(_)),
        None => false,
    };
    let dependencies = || names.all.iter().filter(by_reference);
    for name in dependencies() {
        let text = name.text.as_str();
        let in_key = |text: &str| parts(key).any(|value| value.root == text);
        let index = |name: &Name| name.param.as_ref().map(|(index, _)| *index);
        let mut siblings = dependencies().filter(|other| index(other) == index(name));
        if in_key(text) || listed(text) {
            continue;
        }
        if let Some(other) = siblings.find(|other| in_key(&other.text)) {
            problems
                .report(
                    name.ident(),
                    format!(
                        "`{}` is in the key, and `{text}` beside it is not",
                        other.text
                    ),
                )
                .help(format!(
                    "`inputs({text})` if it is part of the work, `ignore({text})` if it is not"
                ));
        }
    }
}

/// A name that is ignored and yet in the key, and a type parameter that nothing shows.
pub(super) fn check_generics(
    function: &Function,
    names: &Names,
    args: &Args,
    problems: &mut Problems,
) {
    let ignored: Vec<_> = args.ignore.value().into_iter().flatten().collect();
    let generics = &function.sig.generics;
    for ident in &ignored {
        let is_type = generics
            .type_params()
            .any(|parameter| parameter.ident == **ident);
        if !is_type {
            names.find(ident, problems);
        }
    }
    for parameter in generics.type_params() {
        let ident = &parameter.ident;
        let shows = |name: &Name| {
            let shown = name.role == Role::Input || name.ignored;
            let ty = name.param.as_ref().map(|(_, ty)| ty);
            shown && ty.is_some_and(|ty| mentions(ty, ident))
        };
        let is_ignored = ignored.contains(&ident);
        if is_ignored || names.all.iter().any(shows) || of_the_first(function, ident) {
            continue;
        }
        problems
            .report(
                ident,
                format!("no input shows `{ident}`: calls with two types would share one key"),
            )
            .help(format!(
                "take an input of that type, or say `ignore({ident})` if the work is the same \
                 for every `{ident}`"
            ));
    }
}

/// Whether a type parameter is the connection's or the database's.
fn of_the_first(function: &Function, parameter: &syn::Ident) -> bool {
    let first = function.first.as_ref();
    first.is_some_and(|first| mentions(&first.ty, parameter))
}

/// The inputs that are not wholly in the key.
pub(super) fn fingerprinted(key: &[KeyPiece], names: &Names) -> Vec<Value> {
    let inputs = names.all.iter().filter(|name| {
        let is_input = matches!(name.role, Role::Input | Role::Constant);
        is_input && !name.ignored && !whole(key, &name.text)
    });
    inputs.map(Name::input).collect()
}

/// Reports the names that are ignored and wholly in the key.
pub(super) fn check_ignored(key: &[KeyPiece], args: &Args, problems: &mut Problems) {
    for ident in args.ignore.value().into_iter().flatten() {
        let text = ident.unraw().to_string();
        if whole(key, &text) {
            problems
                .report(
                    ident,
                    format!("`{text}` is in the key, and cannot be ignored"),
                )
                .help("what is in the key tells one piece of work from another: leave it out of `ignore`");
        }
    }
}

fn parts(key: &[KeyPiece]) -> impl Iterator<Item = &Value> {
    key.iter().filter_map(KeyPiece::value)
}

/// Whether a name is in the key as it is, not only by its fields.
fn whole(key: &[KeyPiece], text: &str) -> bool {
    parts(key).any(|value| value.name == text)
}
