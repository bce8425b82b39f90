use quote::ToTokens;
use syn::{Pat, Type, parse_quote};

use super::first::Kind;
use super::{Function, pattern};
use crate::problems::Problems;

fn parse(source: &str) -> (Option<Function>, Vec<String>) {
    let mut problems = Problems::default();
    let tokens = source.parse().expect("tokens");
    let function = Function::parse(tokens, &mut problems);
    (function, problems.texts())
}

fn read(source: &str) -> Function {
    let (function, problems) = parse(source);
    assert!(problems.is_empty(), "{source}: {problems:?}");
    function.expect("a function")
}

#[test]
fn the_first_parameter_says_the_kind() {
    let kind = |first: &str| {
        let function = read(&format!("async fn f({first}) -> Result<(), E> {{}}"));
        function.first.expect("a first parameter").kind
    };
    assert!(kind("conn: &mut SqliteConnection") == Kind::Transactional);
    assert!(kind("conn: &'a mut sqlx::PgConnection") == Kind::Transactional);
    assert!(kind("job: &mut Job<'_, Sqlite>") == Kind::Leased);
    assert!(kind("&self, _: &mut rt::Job<'_, Sqlite>") == Kind::Leased);
}

#[test]
fn each_wrong_function_is_one_mistake() {
    let wrong = [
        "fn f(c: &mut C) -> Result<(), E> {}",
        "async fn f() -> Result<(), E> {}",
        "async fn f(&self) -> Result<(), E> {}",
        "async fn f(id: i64) -> Result<(), E> {}",
        "async fn f(c: &C) -> Result<(), E> {}",
        "async fn f(pool: &SqlitePool) -> Result<(), E> {}",
        "async fn f(tx: &mut Transaction<'_, Sqlite>) -> Result<(), E> {}",
        "async fn f(c: &mut C) {}",
        "async fn f(c: &mut C) -> String {}",
        "async fn f(c: &mut C) -> Option<Result<(), E>> {}",
        "async fn f(c: &mut C) -> impl Future {}",
        "async fn f(c: &mut C) -> Result<impl Display, E> {}",
        "async fn f(c: &mut C) -> Result<&'static str, E> {}",
        "async fn f(c: &mut C) -> Result<(), Bad<'_>> {}",
        "async fn f(c: &mut C) -> Result<Vec<&str>> {}",
        "const async fn f(c: &mut C) -> Result<(), E> {}",
        "async unsafe fn f(c: &mut C) -> Result<(), E> {}",
        "async extern \"C\" fn f(c: &mut C) -> Result<(), E> {}",
        "async fn f(c: &mut C, #[cfg(x)] y: u8) -> Result<(), E> {}",
        "#[a::idempotent(key = \"x\")] async fn f(c: &mut C) -> Result<(), E> {}",
    ];
    for source in wrong {
        let (function, problems) = parse(source);
        assert_eq!(problems.len(), 1, "{source}: {problems:?}");
        assert!(function.is_some(), "{source}");
    }
}

#[test]
fn what_is_no_function_is_left_alone() {
    let wrong = [
        "struct X;",
        "pub mod x {}",
        "async fn f(&self, c: &mut C) -> Result<(), E>;",
        "fn f<'life0, 'async_trait>(&'life0 self) -> Pin<Box<X>> { Box::pin(async {}) }",
        "let x = 5;",
        "",
        "fn",
    ];
    for source in wrong {
        let (function, problems) = parse(source);
        assert_eq!(problems.len(), 1, "{source}: {problems:?}");
        assert!(function.is_none(), "{source}");
    }
}

#[test]
fn owned_results_and_functions_over_references_pass() {
    for output in [
        "Result<Cow<'static, str>, Box<dyn Error + 'static>>",
        "Result<Box<dyn Fn(&str) -> &str>, E>",
        "Result<fn(&str) -> &str, E>",
        "anyhow::Result<T>",
        "Answer",
    ] {
        read(&format!("async fn f(c: &mut C) -> {output} {{}}"));
    }
}

#[test]
fn a_body_that_says_self_needs_a_method() {
    let says_self = |body: &str| {
        let source = format!("async fn f(c: &mut C) -> Result<(), E> {{ {body} }}");
        read(&source).says_self
    };
    assert!(says_self("Self::helper()"));
    assert!(says_self("if x { y(|| Self) }"));
    assert!(!says_self("self_test()"));
    assert!(!says_self("struct X; impl X { fn new() -> Self { Self } }"));
    assert!(says_self("impl X { fn new() -> Self { Self } } Self::f()"));
    assert!(read("async fn f(c: &mut C, x: impl Y, z: Self) -> R {}").says_self);
}

/// The bindings of a pattern, and the pattern that borrows.
fn bound(pat: &str, ty: &Type) -> (Vec<(String, usize, Option<String>)>, String) {
    use syn::parse::Parser;
    let pat = Pat::parse_single.parse_str(pat).expect("a pattern");
    let bindings = pattern::bindings(&pat, ty).into_iter().map(|binding| {
        let ty = binding.ty.map(|ty| ty.to_token_stream().to_string());
        (binding.ident.to_string(), binding.references, ty)
    });
    let borrowed = pattern::borrowed(&pat, &|_| true);
    (bindings.collect(), borrowed.to_token_stream().to_string())
}

#[test]
fn patterns_are_matched_by_reference() {
    let any: Type = parse_quote!(T);
    let (names, pat) = bound("Order { id, amount: mut total, .. }", &any);
    assert_eq!(names.len(), 2);
    assert_eq!(pat, "Order { id , amount : total , .. }");
    assert_eq!(bound("Some(ref mut x)", &any).1, "Some (x)");
    assert_eq!(
        bound("whole @ Point(x, _)", &any).1,
        "whole @ Point (x , _)"
    );
    assert_eq!(bound("Wrapper(None)", &any).0, []);
    assert_eq!(bound("[first, rest @ ..]", &any).0.len(), 2);
}

/// A lone name with a capital is an argument like others; one of its type's is that type's value.
#[test]
fn a_parameter_binds_its_name_in_any_case() {
    let names = |pat: &str, ty: Type| bound(pat, &ty).0.len();
    assert_eq!(names("OrderId", parse_quote!(i64)), 1);
    assert_eq!(names("(OrderId)", parse_quote!(model::Id)), 1);
    assert_eq!(names("Marker", parse_quote!(model::Marker)), 0);
    assert_eq!(names("(Marker, id)", parse_quote!((Marker, i64))), 1);
}

#[test]
fn references_in_patterns_are_counted_and_left_out() {
    let ty: Type = parse_quote!((&'a u8, &mut &u16));
    let (names, pat) = bound("(&a, &mut &b)", &ty);
    assert_eq!(names[0], ("a".to_owned(), 1, Some("u8".to_owned())));
    assert_eq!(names[1], ("b".to_owned(), 2, Some("u16".to_owned())));
    assert_eq!(pat, "(a , b)");
}

#[test]
fn names_that_are_not_read_are_not_bound() {
    use syn::parse::Parser;
    let pat = Pat::parse_single.parse_str("Order { id, amount, .. }");
    let pat = pattern::borrowed(&pat.expect("a pattern"), &|name| name == "id");
    assert_eq!(
        pat.to_token_stream().to_string(),
        "Order { id , amount : _ , .. }"
    );
}

#[test]
fn hidden_names_have_other_ones_outside() {
    let function =
        read("async fn f(c: &mut C, a: u8, _b: u8, (c, d): (u8, u8), _store: u8, _: u8) -> R {}");
    let names = function
        .params
        .iter()
        .map(|param| param.outer_name().to_string());
    let names: Vec<_> = names.collect();
    assert_eq!(names, ["a", "b", "argument_3", "argument_4", "argument_5"]);
}
