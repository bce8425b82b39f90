//! Arguments, read by reference: patterns are bound, the key and the inputs are written.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::{Member, Token};

use super::generated;
use super::signature::without_lifetimes;
use crate::function::pattern;
use crate::resolve::{Access, Frame, KeyPiece, Plan, Value};

/// Binds the names of patterns that are read, as references.
pub(super) fn patterns(frame: &Frame, read: &[String]) -> TokenStream {
    let mut statements = TokenStream::new();
    let wanted = |ident: &Ident| read.iter().any(|name| ident.unraw() == *name);
    let patterns = frame
        .function
        .params
        .iter()
        .filter(|param| param.plain_name().is_none());
    for param in patterns {
        let bindings = pattern::bindings(&param.pat, &param.ty);
        if !bindings.iter().any(|binding| wanted(&binding.ident)) {
            continue;
        }
        let pat = pattern::borrowed(&param.pat, &wanted);
        let name = param.outer_name();
        // What is wrong with a pattern is told where the body takes it, and only there.
        statements.extend(generated! {
            #[allow(irrefutable_let_patterns, non_snake_case)]
            let #pat = &#name else { ::core::unreachable!() };
        });
        for binding in bindings {
            if binding.references > 0 && wanted(&binding.ident) {
                let ident = pattern::outer_name(&binding.ident);
                let stars =
                    std::iter::repeat_n(Token![*](Span::mixed_site()), binding.references + 1);
                statements.extend(generated!(let #ident = &#(#stars)* #ident;));
            }
        }
    }
    statements
}

/// Writes the key.
///
/// By the trait's path: a type that cannot be part of a key is then reported at that type alone.
pub(super) fn key(frame: &Frame, plan: &Plan, rt: &TokenStream) -> TokenStream {
    let pieces = plan.key.iter().map(|piece| match piece {
        KeyPiece::Text(text) => generated!(__key.text(#text);),
        KeyPiece::Part(value, next) => {
            let (ty, reference, name) = (ty(value, frame), reference(value), &value.name);
            let next = match next {
                Some(next) => generated!(::core::option::Option::Some(#next)),
                None => generated!(::core::option::Option::None),
            };
            generated! {
                <#ty as #rt::KeyPart>::write(#reference, &mut __key.part(#name, #next));
            }
        }
    });
    generated! {
        let mut __key = #rt::__private::KeyBuilder::new();
        #(#pieces)*
    }
}

/// Writes the inputs.
pub(super) fn inputs(frame: &Frame, plan: &Plan, rt: &TokenStream) -> TokenStream {
    let adds = plan.inputs.iter().map(|value| {
        let (ty, reference, name) = (ty(value, frame), reference(value), &value.name);
        generated!(<#ty as #rt::Input>::fingerprint(#reference, #name, &mut __inputs);)
    });
    let mutability = (!plan.inputs.is_empty()).then(|| Token![mut](Span::mixed_site()));
    generated! {
        let #mutability __inputs = #rt::__private::Inputs::new();
        #(#adds)*
    }
}

/// Lets editors see the arguments inside the key's text; the compiler sees nothing of it.
pub(super) fn for_editors(frame: &Frame) -> Option<TokenStream> {
    let format = frame.format.as_ref()?;
    let patterns = patterns(frame, &frame.used);
    Some(generated! {
        #[allow(unexpected_cfgs)]
        {
            #[cfg(rust_analyzer)]
            {
                #patterns
                let _ = ::core::format_args!(#format);
            }
        }
    })
}

/// A clone of the value, for a function that takes it.
pub(super) fn clone(value: &Value) -> TokenStream {
    let reference = reference(value);
    generated!(::core::clone::Clone::clone(#reference))
}

/// The value by reference.
fn reference(value: &Value) -> TokenStream {
    let ident = &value.ident;
    if value.fields.is_empty() && value.access == Access::Reference {
        return ident.to_token_stream();
    }
    let and = Token![&](value.place);
    let fields = value.fields.iter().map(|field| member(field, value.place));
    generated!(#and #ident #(.#fields)*)
}

/// A field that the key's text names. It stands where the text does, yet is generated: an editor
/// must not offer to replace the whole text by one field.
fn member(field: &str, place: Span) -> Member {
    let span = Span::mixed_site().located_at(place);
    match field.parse::<u32>() {
        Ok(index) => Member::Unnamed(syn::Index { index, span }),
        Err(_) => Member::Named(match syn::parse_str::<Ident>(field) {
            Ok(_) => Ident::new(field, span),
            Err(_) => Ident::new_raw(field, span),
        }),
    }
}

/// The type, in the user's tokens, so that a bound that is not met underlines them.
fn ty(value: &Value, frame: &Frame) -> TokenStream {
    match &value.ty {
        Some(ty) => {
            let ty = without_lifetimes(ty, &frame.function.sig.generics);
            ty.into_token_stream()
        }
        None => quote_spanned!(value.place=> _),
    }
}
