//! What a job may not be, each with what to do instead. Where a rule is broken, the function is
//! mended as far as callers see it, so that they compile on.

use proc_macro2::{Group, TokenStream, TokenTree};
use syn::{Attribute, FnArg, Ident, Safety, Signature, Token};

use super::{Function, mentions};
use crate::problems::Problems;

/// Reports what the function may not be.
pub(super) fn check(function: &mut Function, problems: &mut Problems) {
    twice(&mut function.attrs, problems);
    asynchronous(&mut function.sig, problems);
    qualifiers(&mut function.sig, problems);
    conditional_parameters(&function.sig, problems);
}

/// The attribute on something else: name it.
pub(super) fn not_a_function(item: &TokenStream, problems: &mut Problems) {
    const ITEMS: [&str; 14] = [
        "struct",
        "enum",
        "union",
        "trait",
        "mod",
        "impl",
        "type",
        "const",
        "static",
        "use",
        "macro_rules",
        "extern",
        "let",
        "fn",
    ];
    let mut tokens = item.clone().into_iter();
    let found = tokens.find_map(|token| match token {
        TokenTree::Ident(name) => ITEMS.iter().any(|item| name == item).then_some(name),
        _ => None,
    });
    let what = match &found {
        Some(name) if name == "fn" => "this function".to_owned(),
        Some(name) => format!("this `{name}`"),
        None => "this".to_owned(),
    };
    problems
        .report(
            &found,
            format!("`#[idempotent]` stands on an `async fn` with a body, not on {what}"),
        )
        .help("put it on the functions themselves");
}

/// A method of a trait without a body.
pub(super) fn no_body(sig: &Signature, problems: &mut Problems) {
    problems
        .report(
            &sig.ident,
            format!(
                "`{}` has no body that could be made safe to run again",
                sig.ident
            ),
        )
        .help("annotate a free function, and call it from the trait's implementations");
}

/// A second `#[idempotent]`, which would see the first's expansion.
fn twice(attrs: &mut Vec<Attribute>, problems: &mut Problems) {
    attrs.retain(|attr| {
        let last = attr.path().segments.last();
        let again = last.is_some_and(|last| last.ident == "idempotent");
        if again {
            problems
                .report(attr, "`#[idempotent]` stands here twice")
                .help("a job has one key: keep one of the two");
        }
        !again
    });
}

fn asynchronous(sig: &mut Signature, problems: &mut Problems) {
    if sig.asyncness.is_some() {
        return;
    }
    problems
        .report(&sig.fn_token, "a job is an `async fn`")
        .help(format!("write `async fn {}`", sig.ident));
    sig.asyncness = Some(Token![async](sig.fn_token.span));
}

/// A method that `#[async_trait]` has been at: no longer `async`, and with a lifetime of its name.
pub(super) fn rewritten(sig: &Signature, problems: &mut Problems) -> bool {
    let mut lifetimes = sig.generics.lifetimes();
    let found = lifetimes.any(|parameter| parameter.lifetime.ident == "async_trait");
    if found {
        problems
            .report(
                &sig.ident,
                "`#[async_trait]` has already rewritten this method, and `#[idempotent]` cannot \
                 see what it was",
            )
            .help("annotate a free function, and call it from here");
    }
    found
}

fn qualifiers(sig: &mut Signature, problems: &mut Problems) {
    if let Some(token) = sig.constness.take() {
        problems.report(&token, "a job cannot be `const`: it talks to a database");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        problems
            .report(
                token,
                "a job cannot be `unsafe`: the runtime calls its body",
            )
            .help("put the `unsafe` block inside it");
    }
    if let Some(abi) = sig.abi.take() {
        problems.report(
            &abi,
            "a job cannot be `extern`: it is an `async fn` of Rust",
        );
    }
    if let Some(variadic) = sig.variadic.take() {
        problems.report(
            &variadic,
            "a job cannot be variadic: its arguments have names",
        );
    }
}

/// The call of the body cannot say `#[cfg]` of an argument: attributes on expressions are
/// unstable.
fn conditional_parameters(sig: &Signature, problems: &mut Problems) {
    for argument in &sig.inputs {
        let attrs = match argument {
            FnArg::Receiver(receiver) => &receiver.attrs,
            FnArg::Typed(typed) => &typed.attrs,
        };
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("cfg")) {
            problems
                .report(
                    attr,
                    "`#[cfg]` on a parameter of a job cannot be forwarded to its body",
                )
                .help("put `#[cfg]` on two functions, one for each case");
        }
    }
}

/// Whether the body can only live in a method: it has a receiver, or says `Self`.
pub(super) fn says_self(sig: &Signature, body: &Group) -> bool {
    let name = Ident::new("Self", proc_macro2::Span::call_site());
    sig.receiver().is_some() || mentions(sig, &name) || search(body.stream())
}

/// Whether `Self` occurs, other than in the items that give it a meaning of their own.
fn search(tokens: TokenStream) -> bool {
    let mut inside_item = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if name == "Self" && !inside_item => return true,
            TokenTree::Ident(name) => {
                inside_item |=
                    name == "impl" || name == "trait" || name == "struct" || name == "enum";
            }
            TokenTree::Group(group) => {
                let braces = group.delimiter() == proc_macro2::Delimiter::Brace;
                if !inside_item && search(group.stream()) {
                    return true;
                }
                inside_item &= !braces;
            }
            TokenTree::Punct(punct) => inside_item &= punct.as_char() != ';',
            TokenTree::Literal(_) => {}
        }
    }
    false
}
