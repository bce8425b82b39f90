//! The values of arguments: strings, paths to functions, lists of names.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, ExprPath, Ident, Lit, LitStr, Path, Token, token};

use super::cursor::{at_end, equals, rest_of_argument};
use super::{Call, Dotted, Unique, example};
use crate::problems::Problems;

/// `key = "order_<order_id>"`
pub(super) fn key(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<LitStr> {
    equals(name, input, problems)?;
    string(name, input, problems, "the key is a string literal")
}

/// `name = "charge_payment"`
pub(super) fn name(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<LitStr> {
    equals(name, input, problems)?;
    let text = string(name, input, problems, "the name is a string literal")?;
    let length = text.value().len();
    if text.value().trim().is_empty() {
        problems
            .report(&text, "a job's name is not empty")
            .help("without `name`, it is the function's");
        return None;
    }
    if length > 255 {
        problems
            .report(
                &text,
                format!("this name is {length} bytes long; a job's name has at most 255"),
            )
            .help("shorten it; without `name`, it is the function's");
        return None;
    }
    Some(text)
}

fn string(name: &Ident, input: ParseStream, problems: &mut Problems, what: &str) -> Option<LitStr> {
    if input.peek(LitStr) {
        let text = input.parse::<LitStr>().ok()?;
        if text.suffix().is_empty() {
            return Some(text);
        }
        let plain = text.token().to_string();
        let plain = plain.strip_suffix(text.suffix()).unwrap_or(&plain);
        problems
            .report(&text, format!("{what}, without a suffix"))
            .help(format!("write `{name} = {plain}`"));
        return None;
    }
    let value = rest_of_argument(input);
    let named = syn::parse2::<Ident>(value.clone()).ok();
    let written = match named {
        Some(argument) if name == "key" => {
            let kind = argument.to_string();
            let kind = kind.strip_suffix("_id").unwrap_or(&kind);
            format!("key = \"{kind}_<{argument}>\"")
        }
        _ => example(&name.to_string()).to_owned(),
    };
    let message = match syn::parse2::<Lit>(value.clone()) {
        Ok(Lit::ByteStr(_)) => format!("{what}, not bytes"),
        Ok(Lit::CStr(_)) => format!("{what}, not a C string"),
        _ => what.to_owned(),
    };
    problems
        .report(&value, message)
        .help(format!("write `{written}`"));
    None
}

/// `guard = paid`, or `guard = paid(order_id, region)`
pub(super) fn call(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Call> {
    equals(name, input, problems)?;
    let ahead = input.fork();
    let readable = ahead
        .parse::<ExprPath>()
        .is_ok_and(|path| path.attrs.is_empty());
    // A semicolon for a comma is reported by itself, where it stands.
    let ends = at_end(&ahead)
        || ahead.peek(token::Paren)
        || ahead.peek(Token![;])
        || super::begins(&ahead);
    if readable && ends {
        let path = input.parse::<ExprPath>().ok()?;
        let arguments = match input.peek(token::Paren) {
            true => Some(list(input, problems)?),
            false => None,
        };
        return Some(Call { path, arguments });
    }
    let value = rest_of_argument(input);
    let text = syn::parse2::<LitStr>(value.clone()).ok();
    let example = example(&name.to_string());
    match text {
        Some(text) => {
            let meant = text.value();
            let is_path = syn::parse_str::<Path>(&meant).is_ok();
            problems
                .report(&value, format!("`{name}` is a path, not a string"))
                .help(match is_path {
                    true => format!("write `{name} = {meant}`"),
                    false => format!("write `{example}`"),
                });
        }
        None => {
            problems
                .report(&value, format!("`{name}` is a path to an `async fn`"))
                .help(format!("write the function apart, and here `{example}`"));
        }
    }
    None
}

/// `unique = invoices(order_id, month)`, or `unique = "constraint_name"`
pub(super) fn unique(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Unique> {
    equals(name, input, problems)?;
    let ahead = input.fork();
    let found = (|input: ParseStream| {
        if input.peek(LitStr) {
            let text = input.parse::<LitStr>()?;
            return Ok((!text.value().trim().is_empty()).then_some(Unique::Named(text)));
        }
        let table = input.call(Ident::parse_any)?;
        let content;
        syn::parenthesized!(content in input);
        let columns = content.call(|input| input.parse_terminated(Ident::parse_any, Token![,]))?;
        let columns: Vec<Ident> = columns.into_iter().collect();
        Ok((!columns.is_empty()).then_some(Unique::Columns(table, columns)))
    })(&ahead);
    let ends = at_end(&ahead) || super::begins(&ahead);
    if let (Ok(Some(unique)), true) = (found, ends) {
        use syn::parse::discouraged::Speculative;
        input.advance_to(&ahead);
        return Some(unique);
    }
    let value = rest_of_argument(input);
    problems
        .report(
            &value,
            "`unique` says which constraint means \"already done\"",
        )
        .help(
            "its table and columns, `unique = invoices(order_id, month)`, or its name, \
             `unique = \"invoices_order_id_month_key\"`",
        );
    None
}

/// `inputs(order)`, `ignore(a, b)`
pub(super) fn names(
    name: &Ident,
    input: ParseStream,
    problems: &mut Problems,
) -> Option<Vec<Ident>> {
    let example = example(&name.to_string());
    if !input.peek(token::Paren) {
        let value = rest_of_argument(input);
        let mut place = name.to_token_stream();
        place.extend(value);
        problems
            .report(&place, format!("`{name}` lists names in parentheses"))
            .help(format!("write `{example}`"));
        return None;
    }
    let group = input.fork().parse::<TokenTree>().ok();
    let found = list(input, problems)?;
    if found.is_empty() {
        problems
            .report(&group, format!("`{name}` names nothing"))
            .help(format!("write `{example}`, or leave it out"));
        return None;
    }
    let mut names = Vec::new();
    for dotted in found {
        if !dotted.fields.is_empty() {
            problems
                .report(&dotted.tokens, format!("`{name}` takes whole arguments"))
                .help(format!("write `{name}({})`", dotted.root));
        }
        names.push(dotted.root);
    }
    Some(names)
}

/// `store = app.store`
pub(super) fn store(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Expr> {
    equals(name, input, problems)?;
    let ahead = input.fork();
    if ahead
        .parse::<Expr>()
        .is_ok_and(|expression| is_place(&expression))
    {
        return input.parse().ok();
    }
    let value = rest_of_argument(input);
    problems
        .report(&value, "`store` is an argument, or a field of one")
        .help(format!("write `{}`", example("store")));
    None
}

fn is_place(expression: &Expr) -> bool {
    match expression {
        Expr::Path(path) => path.qself.is_none() && path.path.get_ident().is_some(),
        Expr::Field(field) => is_place(&field.base),
        Expr::MethodCall(call) => call.args.is_empty() && is_place(&call.receiver),
        Expr::Paren(inner) => is_place(&inner.expr),
        Expr::Group(inner) => is_place(&inner.expr),
        _ => false,
    }
}

/// `crate = path`
pub(super) fn runtime(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Path> {
    equals(name, input, problems)?;
    let ahead = input.fork();
    let readable = ahead.call(Path::parse_mod_style).is_ok();
    if readable && (at_end(&ahead) || super::begins(&ahead)) {
        return input.call(Path::parse_mod_style).ok();
    }
    let value = rest_of_argument(input);
    problems
        .report(&value, "`crate` is the path of the runtime")
        .help("such as `crate = my_app::idempotent_runtime`, without quotes");
    None
}

/// `once`
pub(super) fn flag(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<()> {
    if at_end(input) || super::begins(input) {
        return Some(());
    }
    let value = rest_of_argument(input);
    let mut place = name.to_token_stream();
    place.extend(value);
    problems
        .report(&place, format!("`{name}` stands alone"))
        .help(format!("write `{name}`"));
    None
}

/// Reads `(a, b.c)`.
fn list(input: ParseStream, problems: &mut Problems) -> Option<Vec<Dotted>> {
    let group = input.parse::<TokenTree>().ok()?;
    let TokenTree::Group(inside) = &group else {
        return None;
    };
    let all = |input: ParseStream| input.parse_terminated(dotted, Token![,]);
    if let Ok(found) = all.parse2(inside.stream()) {
        return Some(found.into_iter().collect());
    }
    problems
        .report(&group, "expected names of arguments, with commas between")
        .help("such as `(order_id, region)`, or a field, `(order.id)`");
    None
}

fn dotted(input: ParseStream) -> syn::Result<Dotted> {
    let start = input.fork();
    let expression: Expr = input.parse()?;
    let tokens = between(&start, input);
    let mut fields = Vec::new();
    let mut at = &expression;
    loop {
        match at {
            Expr::Field(field) => {
                fields.push(match &field.member {
                    syn::Member::Named(name) => name.unraw().to_string(),
                    syn::Member::Unnamed(index) => index.index.to_string(),
                });
                at = &field.base;
            }
            Expr::Path(path) if path.qself.is_none() => {
                fields.reverse();
                let root = path.path.require_ident()?.clone();
                return Ok(Dotted {
                    root,
                    fields,
                    tokens,
                });
            }
            _ => return Err(start.error("expected a name")),
        }
    }
}

/// The tokens from `start` to where `end` has come.
fn between(start: ParseStream, end: ParseStream) -> TokenStream {
    let mut tokens = TokenStream::new();
    while start.cursor() != end.cursor() {
        match start.parse::<TokenTree>() {
            Ok(token) => token.to_tokens(&mut tokens),
            Err(_) => break,
        }
    }
    tokens
}
