//! Where the tokens of an expansion point: what an editor and the compiler go by.

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use proptest::prelude::*;

use super::idempotent;
use super::tests::{FUNCTIONS, WORDS, tokens};

fn expand(args: &str, item: &str) -> TokenStream {
    idempotent(args.parse().expect("tokens"), item.parse().expect("tokens"))
}

/// All tokens, those in groups included.
fn flat(stream: TokenStream) -> Vec<TokenTree> {
    let mut found = Vec::new();
    for token in stream {
        let inside = match &token {
            TokenTree::Group(group) => flat(group.stream()),
            _ => Vec::new(),
        };
        found.push(token);
        found.extend(inside);
    }
    found
}

fn idents(stream: TokenStream) -> impl Iterator<Item = Ident> {
    flat(stream).into_iter().filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident),
        _ => None,
    })
}

const JOBS: [(&str, &str); 3] = [
    (
        "key = \"order_<order_id>_<month>\", guard = paid(order_id), skip_if = cancelled, \
         unique = invoices(order_id), existing = load, wait = 5s",
        "pub async fn charge(conn: &mut SqliteConnection, order_id: i64, month: &str, _note: String) \
         -> Result<Receipt, ShopError> { insert(conn, order_id, month).await }",
    ),
    (
        "key = \"order_<order_id>\", guard = orders::paid, reconcile = look_up, lease = 30s",
        "async fn charge(job: &mut Job<'_, Sqlite>, gateway: &Gateway, (order_id, _): (i64, u8)) \
         -> anyhow::Result<Receipt> { gateway.charge(job.key(), order_id).await }",
    ),
    (
        "key = \"tenant_<id>\", store = self.store, ignore(self)",
        "async fn rename<T: KeyPart>(&self, conn: &mut PgConnection, id: T) -> Result<(), Error> \
         { self.rename(conn, id).await }",
    ),
];

/// A name with a place in the user's code is the user's own: behind any other, "go to definition"
/// would lead into the runtime, and completion would offer it. (`_` is no name.)
#[test]
fn generated_names_have_no_place_in_the_users_code() {
    for (args, item) in JOBS {
        for ident in idents(expand(args, item)).filter(|ident| ident != "_") {
            if let Some(there) = ident.span().source_text() {
                assert_eq!(there, ident.to_string(), "{args}");
            }
        }
    }
}

/// With an error elsewhere, the guard is named once, so that one that is not there is one error.
#[test]
fn a_guard_is_named_once_while_there_are_errors() {
    let item = "async fn f(conn: &mut C, id: i64) -> Result<u8, E> { body(conn).await }";
    let expansion = expand("key = \"a_<nope>\", guard = paid, skip_if = gone", item);
    for name in ["paid", "gone"] {
        let named = idents(expansion.clone()).filter(|ident| ident == name);
        assert_eq!(named.count(), 1, "{name}");
    }
}

/// An editor finds the arguments in the key: the format string stands where the key does, and each
/// name in it where the placeholder's is.
#[test]
fn editors_see_the_arguments_in_the_key() {
    let (args, item) = JOBS[0];
    let key = "\"order_<order_id>_<month>\"";
    let literals = flat(expand(args, item))
        .into_iter()
        .filter_map(|token| match token {
            TokenTree::Literal(literal) => Some(literal),
            _ => None,
        });
    let there = |literal: &Literal| literal.span().source_text().as_deref() == Some(key);
    let formats: Vec<String> = literals
        .filter(there)
        .map(|literal| literal.to_string())
        .filter(|text| text.contains('{'))
        .collect();
    assert_eq!(formats, ["\"order_{order_id}_{month}\""]);
}

/// The messages of an expansion's errors that are nowhere in the user's code.
fn nowhere(expansion: TokenStream) -> Vec<String> {
    let all = flat(expansion);
    let mut found = Vec::new();
    for (at, token) in all.iter().enumerate() {
        let is_error = matches!(token, TokenTree::Ident(ident) if ident == "compile_error");
        if is_error && token.span().source_text().is_none() {
            let text = all[at..].iter().find_map(|token| match token {
                TokenTree::Literal(text) => Some(text.to_string()),
                _ => None,
            });
            found.push(text.unwrap_or_default());
        }
    }
    found
}

proptest! {
    /// Only a key that is missing has no better place than the attribute itself.
    #[test]
    fn every_error_is_in_the_users_code(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..16),
        function in proptest::sample::select(FUNCTIONS),
    ) {
        if let Some(args) = tokens(&words) {
            let item = function.parse().expect("tokens");
            for message in nowhere(idempotent(args, item)) {
                prop_assert!(message.starts_with("\"`key` is missing"), "{words:?}: {message}");
            }
        }
    }
}
