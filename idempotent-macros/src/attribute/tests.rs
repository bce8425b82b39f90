use proc_macro2::TokenStream;
use proptest::prelude::*;

use super::idempotent;
use crate::template::Template;

/// What may come after another in an attribute or a function, sensible or not.
pub(super) const WORDS: &[&str] = &[
    "key",
    "guard",
    "unique",
    "existing",
    "lease",
    "wait",
    "once",
    "ignore",
    "inputs",
    "store",
    "crate",
    "name",
    "missing",
    "=",
    ",",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "::",
    ":",
    ".",
    "|",
    "&",
    "mut",
    "#",
    "!",
    "->",
    "=>",
    "==",
    ";",
    "\"a_<id>\"",
    "\"<id.0.x>\"",
    "\"<\"",
    "r#\"é<i>\"#",
    "b\"x\"",
    "'c'",
    "30s",
    "0d",
    "1.5",
    "5",
    "-",
    "id",
    "paid",
    "self",
    "Self",
    "_",
    "async",
    "fn",
    "f",
    "conn",
    "SqliteConnection",
    "Job",
    "'_",
    "'a",
    "impl",
    "where",
    "const",
    "unsafe",
    "extern",
    "struct",
    "Result",
    "()",
    "T",
    "ref",
    "@",
    "..",
    "...",
    "r#type",
    "pub",
    "#[cfg(x)]",
    "#[idempotent]",
    "for",
];

/// Functions that are nearly right, to get past the first check.
pub(super) const FUNCTIONS: &[&str] = &[
    "async fn f(conn: &mut SqliteConnection, id: i64) -> Result<(), E> { }",
    "async fn f<T, const N: u8>(&self, job: &mut Job<'_, D>, &(id, ref x): &(T, Self)) -> R { }",
    "async fn f(conn: &mut C, Order { id, .. }: &Order, pat!(y): Y, _z: u8, a @ B(c): B) -> R { }",
    "pub fn f(mut self: Arc<Self>, pool: &Pool, id: impl Fn(&str)) -> &str { Self }",
];

/// Tokens out of words that need not balance.
pub(super) fn tokens(words: &[&str]) -> Option<TokenStream> {
    words.join(" ").parse().ok()
}

proptest! {
    #[test]
    fn a_template_never_panics(text in any::<String>()) {
        let template = Template::parse(&text);
        for flaw in template.flaws {
            prop_assert!(flaw.range.is_none_or(|range| text.get(range).is_some()));
        }
    }

    #[test]
    fn a_template_of_brackets_never_panics(text in "[<>{}.:#$%a_é0 ]{0,24}") {
        let template = Template::parse(&text);
        for flaw in template.flaws {
            prop_assert!(flaw.range.is_none_or(|range| text.get(range).is_some()));
        }
    }

    #[test]
    fn arguments_never_panic(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..16),
        function in proptest::sample::select(FUNCTIONS),
    ) {
        if let Some(args) = tokens(&words) {
            let item = function.parse().expect("tokens");
            prop_assert!(!idempotent(args, item).is_empty());
        }
    }

    #[test]
    fn keys_never_panic(
        key in any::<String>(),
        function in proptest::sample::select(FUNCTIONS),
    ) {
        let args = quote::quote!(key = #key, guard = paid);
        let item = function.parse().expect("tokens");
        prop_assert!(!idempotent(args, item).is_empty());
    }

    #[test]
    fn items_never_panic(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..24),
    ) {
        if let Some(item) = tokens(&words) {
            let args = "key = \"a_<id>\", guard = paid".parse().expect("tokens");
            let derived = crate::key_part::derive(item.clone());
            let expanded = idempotent(args, item);
            prop_assert!(!derived.is_empty() && !expanded.is_empty());
        }
    }
}

/// Whatever is wrong, the function is there for its callers.
#[test]
fn on_an_error_the_function_is_emitted_all_the_same() {
    let args = "key = \"<nope>\", guard = paid(gone)"
        .parse()
        .expect("tokens");
    let item =
        "pub async fn f(conn: &mut C, id: i64) -> Result<u8, E> { half typed".to_owned() + " }";
    let expansion = idempotent(args, item.parse().expect("tokens")).to_string();
    for part in [
        "compile_error",
        "pub async fn f",
        "store : impl :: idempotent_runtime :: Within < '_ , C >",
        ":: idempotent_runtime :: Idempotent < Result < u8 , E > >",
        "half typed",
        "let _ = paid",
    ] {
        assert!(expansion.contains(part), "{part} in {expansion}");
    }
    assert!(!expansion.contains("__run"), "{expansion}");
}
