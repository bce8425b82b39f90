//! A valid model becomes tokens: the only module that quotes, and it cannot fail.
//!
//! - `mod.rs`: the items, put together
//! - [`signature`]: the outer function's head
//! - [`body`]: the nested function, or the hidden method, that holds the user's body
//! - [`steps`]: what runs around it
//! - [`site`]: what is known of it before any call
//! - [`ask`]: calls of the user's functions
//! - [`read`]: arguments, read before the body takes them
//!
//! On spans. Generated names are `mixed_site`: locals cannot meet the user's, and an editor finds
//! nothing behind them. Errors still have to point at the user's code, so the *punctuation* around
//! a user's type or path takes its span: the `::` that opens a generated path, parentheses, `&`.
//! A name with a user's span would send "go to definition" into the runtime.

mod ask;
mod body;
mod read;
mod signature;
mod site;
mod steps;
#[cfg(test)]
mod tests;

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Path, Token};

use crate::resolve::{Frame, Plan};

/// `quote!` at `mixed_site`.
macro_rules! generated {
    ($($tokens:tt)*) => {
        quote::quote_spanned!(proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
use generated;

/// The function as a job.
pub(crate) fn job(frame: &Frame, plan: &Plan) -> TokenStream {
    let head = signature::outer(frame);
    let body = body::Body::of(frame);
    let steps = steps::all(frame, plan, &body);
    let nested = &body.nested;
    let content = braces(frame, generated!(#nested #steps));
    let sibling = &body.sibling;
    generated!(#head #content #sibling)
}

/// The function as its callers see it, with its body beside it, where it cannot be a job: the
/// errors are told elsewhere, and no second one may come from here.
pub(crate) fn stand_in(frame: &Frame) -> TokenStream {
    let head = signature::outer(frame);
    let body = body::Body::of(frame);
    let (nested, sibling) = (&body.nested, &body.sibling);
    let named = &frame.named;
    let for_editors = read::for_editors(frame);
    let content = braces(
        frame,
        generated! {
            #nested
            #for_editors
            #(let _ = #named;)*
            ::core::future::pending().await
        },
    );
    let allow = generated!(#[allow(dead_code, unused_variables)]);
    let sibling = sibling.as_ref().map(|sibling| generated!(#allow #sibling));
    generated!(#allow #head #content #sibling)
}

/// The outer function's braces, which are the user's.
fn braces(frame: &Frame, content: TokenStream) -> TokenStream {
    let mut group = Group::new(Delimiter::Brace, content);
    group.set_span(frame.function.body.span());
    group.into_token_stream()
}

/// The runtime's path, opened at `span`.
fn runtime(path: Option<&Path>, span: Span) -> TokenStream {
    match path {
        Some(path) => path.to_token_stream(),
        None => {
            let open = colons(span);
            generated!(#open idempotent_runtime)
        }
    }
}

/// `::` with a user's span, to open a generated path.
fn colons(span: Span) -> Token![::] {
    Token![::]([span, span])
}

/// `(…)` with a user's span.
fn parens(span: Span, content: TokenStream) -> Group {
    let mut group = Group::new(Delimiter::Parenthesis, content);
    group.set_span(span);
    group
}

/// An expression whose errors belong to a user's span: `(Cell::new(…)).into_inner()`, with that
/// span on the parentheses at its ends. What is expected of the whole is not expected of a
/// receiver, and so not of what is inside, where no user could see it.
fn located(span: Span, expression: &TokenStream) -> TokenStream {
    let receiver = parens(span, generated!(::core::cell::Cell::new(#expression)));
    let close = parens(span, TokenStream::new());
    generated!(#receiver.into_inner #close)
}

/// `<…>` around what is of the user's tokens, with the spans of their first and their last: a path
/// that is opened with the first, too, is then from one to the other.
fn angles(tokens: &impl ToTokens, content: &TokenStream) -> TokenStream {
    let (open, close) = (start(tokens), end(tokens));
    let (open, close) = (
        quote_spanned!(open=> <).into_token_stream(),
        quote_spanned!(close=> >).into_token_stream(),
    );
    generated!(#open #content #close)
}

/// Where tokens of the user begin.
fn start(tokens: impl ToTokens) -> Span {
    let first = tokens.to_token_stream().into_iter().next();
    first.map_or_else(Span::call_site, |token| token.span())
}

/// Where they end.
fn end(tokens: impl ToTokens) -> Span {
    let last = tokens.to_token_stream().into_iter().last();
    last.map_or_else(Span::call_site, |token| token.span())
}
