//! Where an argument ends. After a mistake, reading goes on at the next comma that an argument
//! follows: the commas of a closure or of a half-typed path are not taken for one.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::ParseStream;
use syn::{Ident, Token, token};

use super::{begins, example};
use crate::problems::{Problems, code};

/// Reads the comma after an argument, or says what is in its place.
pub(super) fn separator(input: ParseStream, problems: &mut Problems) {
    if input.is_empty() {
        return;
    }
    if input.peek(Token![,]) {
        let first = take(input);
        while input.peek(Token![,]) {
            let mut commas = first.clone();
            commas.extend(take(input));
            problems.report(&commas, "one comma is enough");
        }
        return;
    }
    if begins(input) {
        let next = input.fork().parse::<TokenTree>().ok();
        let name = next.as_ref().map(ToString::to_string).unwrap_or_default();
        problems.report(&next, format!("a comma is missing before `{name}`"));
        return;
    }
    let rest = rest_of_argument(input);
    problems
        .report(&rest, format!("unexpected `{}`", code(&rest)))
        .help("a comma ends an argument");
    if input.peek(Token![,]) {
        take(input);
    }
}

/// Reads the `=` between a name and its value; `None` if there is no value to read.
pub(super) fn equals(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<()> {
    let text = name.to_string();
    let example = example(&text);
    let wrong = if input.peek(Token![==]) || input.peek(Token![=>]) || input.peek(Token![:]) {
        let found = take_punctuation(input);
        problems.report(
            &found,
            format!("`=` belongs between `{text}` and its value"),
        )
    } else if input.peek(Token![=]) {
        take(input);
        if !at_end(input) {
            return Some(());
        }
        problems
            .report(name, format!("`{text}` has no value"))
            .help(format!("write `{example}`"));
        return None;
    } else if at_end(input) {
        problems
            .report(name, format!("`{text}` needs a value"))
            .help(format!("write `{example}`"));
        return None;
    } else if input.peek(token::Paren) {
        let value = rest_of_argument(input);
        problems
            .report(
                &value,
                format!("`=` belongs between `{text}` and its value"),
            )
            .help(format!("write `{example}`"));
        return None;
    } else {
        problems.report(name, format!("`=` is missing after `{text}`"))
    };
    wrong.help(format!("write `{example}`"));
    (!at_end(input)).then_some(())
}

/// Whether nothing more belongs to this argument.
pub(super) fn at_end(input: ParseStream) -> bool {
    input.is_empty() || input.peek(Token![,])
}

/// Takes what is left of an argument.
pub(super) fn rest_of_argument(input: ParseStream) -> TokenStream {
    let mut tokens = closure_parameters(input);
    while !input.is_empty() {
        if input.peek(Token![,]) && argument_follows(input) {
            break;
        }
        tokens.extend(take(input));
    }
    tokens
}

/// Takes `async move |conn, lease|`, whose commas are its own whatever stands between them.
fn closure_parameters(input: ParseStream) -> TokenStream {
    let mut tokens = TokenStream::new();
    while input.peek(Token![async]) || input.peek(Token![move]) {
        tokens.extend(take(input));
    }
    if !input.peek(Token![|]) || input.peek(Token![||]) {
        return tokens;
    }
    tokens.extend(take(input));
    while !input.is_empty() && !input.peek(Token![|]) {
        tokens.extend(take(input));
    }
    tokens.extend(take(input));
    tokens
}

/// Passes over what is left of an argument.
pub(super) fn skip(input: ParseStream) {
    rest_of_argument(input);
}

/// Whether nothing or an argument comes after this comma.
fn argument_follows(input: ParseStream) -> bool {
    let ahead = input.fork();
    take(&ahead);
    ahead.is_empty() || begins(&ahead)
}

/// Takes one token, delimited groups being one; reading past the end takes nothing.
fn take(input: ParseStream) -> TokenStream {
    input.parse::<TokenTree>().ok().to_token_stream()
}

/// Takes neighbouring punctuation, such as `==`, but no comma.
fn take_punctuation(input: ParseStream) -> TokenStream {
    let mut tokens = take(input);
    while input.peek(Token![=]) || input.peek(Token![:]) || input.peek(Token![>]) {
        tokens.extend(take(input));
    }
    tokens
}
