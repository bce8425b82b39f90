//! Where the attribute's arguments meet the function: the only module that sees both. What comes
//! out cannot be wrong, and [`expand`](crate::expand) decides nothing any more.
//!
//! - `mod.rs`: the model, and the order of things
//! - [`names`]: what can be named, and how it is read
//! - [`key`]: placeholders become values
//! - [`questions`]: the functions to ask, and their arguments
//! - [`inputs`]: every argument is accounted for
//! - [`rules`]: arguments that go together, and that don't

mod inputs;
mod key;
mod names;
mod questions;
mod rules;
#[cfg(test)]
mod tests;

use proc_macro2::Literal;
use syn::ext::IdentExt;
use syn::{Expr, ExprPath, Path};

use crate::args::{Args, Call, Millis, Unique, Window};
use crate::function::Function;
use crate::function::first::Kind;
use crate::problems::Problems;
use names::Names;
pub(crate) use names::{Access, Value};

/// What callers see of a job. It is known even where something else is wrong.
pub(crate) struct Frame {
    pub(crate) function: Function,
    /// `crate = …`
    pub(crate) runtime: Option<Path>,
    /// Whether the job can skip: what its `Outcome` says.
    pub(crate) can_skip: bool,
    /// Whether it takes its store from the other arguments: the first parameter is then not its
    /// callers'.
    pub(crate) has_own_store: bool,
    /// The functions that the attribute names, for the name resolution of editors.
    pub(crate) named: Vec<ExprPath>,
    /// The key's text as a format string, for editors, if it is one.
    pub(crate) format: Option<Literal>,
    /// The names that the attribute uses, in the key and for its questions.
    pub(crate) used: Vec<String>,
}

/// A job, with nothing left to decide.
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    /// The recorded name.
    pub(crate) name: String,
    pub(crate) key: Vec<KeyPiece>,
    /// What is fingerprinted: the inputs that are not in the key as they are.
    pub(crate) inputs: Vec<Value>,
    pub(crate) guard: Option<Question>,
    pub(crate) skip_if: Option<Question>,
    pub(crate) existing: Option<Question>,
    pub(crate) reconcile: Option<Question>,
    pub(crate) unique: Option<Unique>,
    pub(crate) lease: Option<Millis>,
    pub(crate) key_window: Option<Window>,
    pub(crate) wait: Option<Millis>,
    pub(crate) retain: Option<Millis>,
    pub(crate) store: Option<Expr>,
    /// Whether the guard may say that there is no record.
    pub(crate) may_be_missing: bool,
    /// Which names of patterns are read, by their text.
    pub(crate) bound: Vec<String>,
}

/// A piece of a key.
pub(crate) enum KeyPiece {
    Text(String),
    /// A value, and the character that begins the text after it.
    Part(Box<Value>, Option<char>),
}

impl KeyPiece {
    /// The value, if it is one.
    pub(crate) fn value(&self) -> Option<&Value> {
        match self {
            Self::Part(value, _) => Some(value),
            Self::Text(_) => None,
        }
    }
}

/// A function to ask, and what it is given after the connection.
pub(crate) struct Question {
    pub(crate) path: ExprPath,
    /// The path as it is written, for messages.
    pub(crate) text: String,
    pub(crate) arguments: Vec<Value>,
}

/// Brings both together. The plan is there only if nothing is wrong.
pub(crate) fn resolve(
    args: Args,
    function: Function,
    problems: &mut Problems,
) -> (Frame, Option<Plan>) {
    let mut names = Names::of(&function);
    rules::check(&args, &function, problems);
    names.take_out_store(&args, problems);
    inputs::apply_lists(&args, &mut names, problems);
    let template = key::template(&args, &function, &names, problems);
    let (key, format) = key::pieces(&args, template, &function, &names, problems);
    inputs::check_ignored(&key, &args, problems);
    inputs::check_references(&key, &names, &args, problems);
    inputs::check_generics(&function, &names, &args, problems);
    let inputs = inputs::fingerprinted(&key, &names);

    let mut question = |slot: &crate::args::Slot<Call>| {
        let call = slot.value()?;
        Some(names.question(call, &key, &function, problems))
    };
    let guard = question(&args.guard);
    let skip_if = question(&args.skip_if);
    let existing = question(&args.existing);
    let reconcile = question(&args.reconcile);

    let questions = [&guard, &skip_if, &existing, &reconcile];
    let named = questions.into_iter().flatten();
    let asked = named.clone().flat_map(|question| &question.arguments);
    let of_key = key.iter().filter_map(KeyPiece::value);
    let used: Vec<String> = of_key
        .chain(asked)
        .map(|value| value.root.clone())
        .collect();
    let frame = Frame {
        can_skip: rules::can_skip(&args),
        has_own_store: args.store.is_given(),
        named: named.map(|question| question.path.clone()).collect(),
        runtime: args.runtime.value().cloned(),
        format,
        used,
        function,
    };
    let kind = frame.function.first.as_ref().map(|first| first.kind);
    let (Some(kind), true) = (kind, problems.is_empty()) else {
        return (frame, None);
    };

    let mut bound = frame.used.clone();
    bound.extend(inputs.iter().map(|value| value.root.clone()));
    bound.extend(names::store_root(&args).map(|root| root.unraw().to_string()));

    let name = args.name.value();
    let plan = Plan {
        kind,
        name: name.map_or_else(|| frame.function.name(), syn::LitStr::value),
        key,
        inputs,
        guard,
        skip_if,
        existing,
        reconcile,
        may_be_missing: args.missing.is_given()
            || args.skip_if.is_given()
            || !args.existing.is_given(),
        unique: taken(args.unique),
        lease: taken(args.lease),
        key_window: taken(args.key_window),
        wait: taken(args.wait),
        retain: taken(args.retain),
        store: taken(args.store),
        bound,
    };
    (frame, Some(plan))
}

fn taken<T>(slot: crate::args::Slot<T>) -> Option<T> {
    match slot {
        crate::args::Slot::Given(_, value) => Some(value),
        _ => None,
    }
}
