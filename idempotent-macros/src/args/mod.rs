//! The attribute's arguments, each read by itself: a mistake in one leaves the others standing, so
//! that a half-typed line costs an editor nothing but that line.
//!
//! - `mod.rs`: the arguments, and who may set them
//! - [`cursor`]: where an argument ends, and how to go on after a mistake
//! - [`value`]: strings, paths, lists
//! - [`duration`]: such as `30s`

mod cursor;
mod duration;
#[cfg(test)]
mod tests;
mod value;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, ExprPath, Ident, LitStr, Path, Token};

use crate::problems::{Problems, list, nearest};

/// The attribute's arguments.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) key: Slot<LitStr>,
    pub(crate) guard: Slot<Call>,
    pub(crate) skip_if: Slot<Call>,
    pub(crate) existing: Slot<Call>,
    pub(crate) reconcile: Slot<Call>,
    pub(crate) unique: Slot<Unique>,
    pub(crate) lease: Slot<Millis>,
    pub(crate) key_window: Slot<Window>,
    pub(crate) wait: Slot<Millis>,
    pub(crate) retain: Slot<Millis>,
    pub(crate) inputs: Slot<Vec<Ident>>,
    pub(crate) ignore: Slot<Vec<Ident>>,
    pub(crate) name: Slot<LitStr>,
    pub(crate) store: Slot<Expr>,
    pub(crate) runtime: Slot<Path>,
    pub(crate) once: Slot<()>,
    pub(crate) missing: Slot<()>,
}

/// Milliseconds.
pub(crate) type Millis = u64;

/// An argument: not there, there but unreadable (and reported), or read.
#[derive(Default)]
pub(crate) enum Slot<T> {
    #[default]
    Absent,
    Broken(Ident),
    Given(Ident, T),
}

/// A path to an `async fn`, and the arguments it is given, if they are said.
pub(crate) struct Call {
    pub(crate) path: ExprPath,
    pub(crate) arguments: Option<Vec<Dotted>>,
}

/// A name, or fields of one: `order.id`.
pub(crate) struct Dotted {
    pub(crate) root: Ident,
    pub(crate) fields: Vec<String>,
    pub(crate) tokens: TokenStream,
}

/// The constraint whose violation means "already done".
pub(crate) enum Unique {
    Named(LitStr),
    Columns(Ident, Vec<Ident>),
}

/// How long the outside world remembers a key.
pub(crate) enum Window {
    Millis(Millis),
    Forever,
}

/// Every argument, as it is written.
const ARGUMENTS: [(&str, &str); 17] = [
    ("key", "key = \"order_<order_id>\""),
    ("guard", "guard = paid"),
    ("skip_if", "skip_if = cancelled"),
    ("unique", "unique = invoices(order_id, month)"),
    ("existing", "existing = load_receipt"),
    ("lease", "lease = 30s"),
    ("key_window", "key_window = 24h"),
    ("reconcile", "reconcile = look_up"),
    ("wait", "wait = 5s"),
    ("retain", "retain = 30d"),
    ("inputs", "inputs(order)"),
    ("ignore", "ignore(trace_id)"),
    ("name", "name = \"charge_payment\""),
    ("store", "store = app.store"),
    ("once", "once"),
    ("missing", "missing"),
    ("crate", "crate = path"),
];

/// How an argument is written, by its name.
fn example(name: &str) -> &'static str {
    let found = ARGUMENTS.iter().find(|(known, _)| *known == name);
    found.map_or("", |(_, example)| example)
}

impl Args {
    /// Reads the arguments; what cannot be read is reported, and the rest is read all the same.
    pub(crate) fn parse(tokens: TokenStream, problems: &mut Problems) -> Self {
        let mut args = Self::default();
        let all = |input: ParseStream| {
            while !input.is_empty() {
                args.argument(input, problems);
                cursor::separator(input, problems);
            }
            Ok(())
        };
        // The closure reports for itself and leaves nothing over; syn still may have words of its
        // own on what no Rust token stream contains.
        if let Err(error) = all.parse2(tokens) {
            problems.report_syntax(&error);
        }
        args
    }

    /// Reads one argument, up to the comma after it or to what is in the way of one.
    fn argument(&mut self, input: ParseStream, problems: &mut Problems) {
        if !input.peek(Ident::peek_any) {
            return self.nameless(input, problems);
        }
        let Ok(name) = input.call(Ident::parse_any) else {
            return cursor::skip(input);
        };
        let text = name.to_string();
        match text.as_str() {
            "key" => set(&mut self.key, name, input, problems, value::key),
            "guard" => set(&mut self.guard, name, input, problems, value::call),
            "skip_if" => set(&mut self.skip_if, name, input, problems, value::call),
            "existing" => set(&mut self.existing, name, input, problems, value::call),
            "reconcile" => set(&mut self.reconcile, name, input, problems, value::call),
            "unique" => set(&mut self.unique, name, input, problems, value::unique),
            "lease" => set(&mut self.lease, name, input, problems, duration::lease),
            "key_window" => set(
                &mut self.key_window,
                name,
                input,
                problems,
                duration::window,
            ),
            "wait" => set(&mut self.wait, name, input, problems, duration::wait),
            "retain" => set(&mut self.retain, name, input, problems, duration::retain),
            "inputs" => set(&mut self.inputs, name, input, problems, value::names),
            "ignore" => set(&mut self.ignore, name, input, problems, value::names),
            "name" => set(&mut self.name, name, input, problems, value::name),
            "store" => set(&mut self.store, name, input, problems, value::store),
            "crate" => set(&mut self.runtime, name, input, problems, value::runtime),
            "once" => set(&mut self.once, name, input, problems, value::flag),
            "missing" => set(&mut self.missing, name, input, problems, value::flag),
            _ => {
                let known = ARGUMENTS.map(|(name, _)| name);
                let problem = problems.report(&name, format!("unknown argument `{text}`"));
                if let Some(near) = nearest(&text, known) {
                    problem.help(format!("did you mean `{near}`? `{}`", example(near)));
                }
                problem.help(format!("the arguments are {}", list(known)));
                cursor::skip(input);
            }
        }
    }

    /// What stands where an argument's name should; a lone string is taken for the key.
    fn nameless(&mut self, input: ParseStream, problems: &mut Problems) {
        if input.peek(LitStr) && matches!(self.key, Slot::Absent) {
            if let Ok(text) = input.parse::<LitStr>() {
                problems
                    .report(&text, "say what this is")
                    .help(format!("write `key = {}`", text.to_token_stream()));
                self.key = Slot::Given(Ident::new("key", text.span()), text);
            }
            return;
        }
        let tokens = cursor::rest_of_argument(input);
        if tokens.is_empty() {
            let comma = input.fork().parse::<TokenTree>().ok();
            problems
                .report(&comma, "nothing stands before this comma")
                .help("leave it out");
            return;
        }
        problems
            .report(&tokens, "an argument begins with its name")
            .help(format!("such as `{}`", example("guard")));
    }
}

impl<T> Slot<T> {
    /// The value, where it could be read.
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Self::Given(_, value) => Some(value),
            Self::Absent | Self::Broken(_) => None,
        }
    }

    /// The argument's name in the attribute, where it was given, readable or not.
    pub(crate) fn place(&self) -> Option<&Ident> {
        match self {
            Self::Given(name, _) | Self::Broken(name) => Some(name),
            Self::Absent => None,
        }
    }

    /// Whether it was given, readable or not.
    pub(crate) fn is_given(&self) -> bool {
        self.place().is_some()
    }
}

/// Reads a value with `read`. This alone knows about arguments that are given twice.
fn set<T>(
    slot: &mut Slot<T>,
    name: Ident,
    input: ParseStream,
    problems: &mut Problems,
    read: impl FnOnce(&Ident, ParseStream, &mut Problems) -> Option<T>,
) {
    let value = read(&name, input, problems);
    if let Some(first) = slot.place() {
        let mut both = first.to_token_stream();
        name.to_tokens(&mut both);
        problems
            .report(&both, format!("`{name}` is given twice"))
            .help("keep one of the two");
        return;
    }
    *slot = match value {
        Some(value) => Slot::Given(name, value),
        None => Slot::Broken(name),
    };
}

/// Whether an argument begins here: a known name, or any name before `=`.
fn begins(input: ParseStream) -> bool {
    let ahead = input.fork();
    let Ok(name) = ahead.call(Ident::parse_any) else {
        return false;
    };
    let assigned = ahead.peek(Token![=]) && !ahead.peek(Token![==]) && !ahead.peek(Token![=>]);
    assigned || ARGUMENTS.iter().any(|(known, _)| name == known)
}
