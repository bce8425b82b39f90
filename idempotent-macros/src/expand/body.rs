//! The function that holds the user's body, as the user wrote it.
//!
//! A nested `async fn`, because only there do `return`, `?`, a missing tail and a stray semicolon
//! report what they report in a plain function. Nested items see no `self` and no `Self`: then it
//! is a hidden method beside the outer one.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, FnArg, GenericParam, Lifetime, Meta, Signature, TypeReference, Visibility};

use super::generated;
use super::signature::{is_instrument, turbofish};
use crate::function::output::Refused;
use crate::function::{Function, Param, mentions, pattern};
use crate::resolve::Frame;

/// The body's function, and the way to call it.
pub(super) struct Body {
    /// Inside the outer function.
    pub(super) nested: Option<TokenStream>,
    /// Beside it.
    pub(super) sibling: Option<TokenStream>,
    /// `__idempotent_body::<T>`
    path: TokenStream,
}

impl Body {
    pub(super) fn of(frame: &Frame) -> Self {
        let function = &frame.function;
        let turbofish = turbofish(function);
        if function.says_self {
            // In an implementation of a trait this is a method that the trait does not have: the
            // name is then what the compiler says.
            let name = format_ident!(
                "__{}_needs_an_inherent_impl",
                function.sig.ident.unraw(),
                span = Span::mixed_site()
            );
            let item = item(frame, &name, &sibling_attributes(function));
            let private = matches!(function.vis, Visibility::Inherited);
            Self {
                nested: private.then(|| in_its_stead(function, &name)),
                sibling: Some(generated!(#[doc(hidden)] #item)),
                path: generated!(Self::#name #turbofish),
            }
        } else {
            let name = Ident::new("__idempotent_body", Span::mixed_site());
            Self {
                nested: Some(item(frame, &name, &nested_attributes(function))),
                sibling: None,
                path: generated!(#name #turbofish),
            }
        }
    }

    /// The call, with `first` for the first parameter and the outer function's arguments as they
    /// are.
    pub(super) fn call(&self, frame: &Frame, first: &TokenStream) -> TokenStream {
        let function = &frame.function;
        let mut arguments = Vec::new();
        for (index, argument) in function.sig.inputs.iter().enumerate() {
            let param = function.params.iter().find(|param| param.index == index);
            arguments.push(match (argument, param) {
                (FnArg::Receiver(receiver), _) => receiver.self_token.to_token_stream(),
                (FnArg::Typed(_), Some(param)) => param.outer_name().to_token_stream(),
                (FnArg::Typed(_), None) => first.clone(),
            });
        }
        let path = &self.path;
        generated!(#path(#(#arguments),*))
    }
}

/// A trait whose method has the name of the hidden one, and gives way to it: where the hidden method
/// is refused, in an implementation of a trait, its call must not be a second error. A function
/// with a visibility is in no such implementation.
fn in_its_stead(function: &Function, name: &Ident) -> TokenStream {
    let generics = function.sig.generics.params.iter();
    let parameters = generics.filter_map(|parameter| match parameter {
        GenericParam::Lifetime(_) => None,
        GenericParam::Type(ty) => Some(ty.ident.to_token_stream()),
        GenericParam::Const(constant) => {
            let (name, ty) = (&constant.ident, &constant.ty);
            Some(generated!(const #name: #ty))
        }
    });
    let arguments = function.sig.inputs.iter();
    let arguments = arguments.map(|_| generated!(_: impl ::core::marker::Sized));
    generated! {
        trait __IdempotentBody<__Output> {
            fn #name<#(#parameters),*>(#(#arguments),*) -> ::core::future::Pending<__Output> {
                ::core::future::pending()
            }
        }
        impl<__Output, __Type: ?::core::marker::Sized> __IdempotentBody<__Output> for __Type {}
    }
}

fn item(frame: &Frame, name: &Ident, attrs: &[Attribute]) -> TokenStream {
    let function = &frame.function;
    let mut sig = function.sig.clone();
    sig.ident = name.clone();
    for (index, argument) in sig.inputs.iter_mut().enumerate() {
        let attrs = match argument {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(typed) => &mut typed.attrs,
        };
        attrs.retain(|attr| is_lint(attr) || is_condition(attr));
        let param = function.params.iter().find(|param| param.index == index);
        if param.is_some_and(|param| is_used_outside(param, frame)) {
            attrs.insert(0, syn::parse_quote!(#[allow(unused_variables)]));
        }
    }
    if function.output.refused == Some(Refused::Borrowed) {
        borrow_for_one_lifetime(&mut sig);
    }
    let body = &function.body;
    // The outer function has them all, and says so once.
    let many = (sig.inputs.len() > 4).then(|| generated!(#[allow(clippy::too_many_arguments)]));
    generated!(#many #(#attrs)* #sig #body)
}

/// Says the lifetimes that are left to be found, where a result that borrows was refused: that it
/// does not say from what it borrows would be a second error, and its advice no help.
fn borrow_for_one_lifetime(sig: &mut Signature) {
    struct Say(Lifetime);
    impl VisitMut for Say {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            if lifetime.ident == "_" {
                *lifetime = self.0.clone();
            }
        }
        fn visit_type_reference_mut(&mut self, ty: &mut TypeReference) {
            let said = ty.lifetime.take();
            ty.lifetime = Some(said.unwrap_or_else(|| self.0.clone()));
            visit_mut::visit_type_reference_mut(self, ty);
        }
    }
    let one = Lifetime::new("'__idempotent", Span::mixed_site());
    for argument in &mut sig.inputs {
        if let FnArg::Typed(typed) = argument {
            Say(one.clone()).visit_type_mut(&mut typed.ty);
        }
    }
    Say(one.clone()).visit_return_type_mut(&mut sig.output);
    sig.generics.params.insert(0, syn::parse_quote!(#one));
}

/// Whether the attribute uses a parameter that the body does not: it is not unused.
fn is_used_outside(param: &Param, frame: &Frame) -> bool {
    let body = frame.function.body.stream();
    let bindings = pattern::bindings(&param.pat, &param.ty).into_iter();
    let mut names = bindings.map(|binding| binding.ident);
    names.any(|name| frame.used.iter().any(|used| name.unraw() == *used) && !mentions(&body, &name))
}

/// Lints reach a nested function through the outer one.
fn nested_attributes(function: &Function) -> Vec<Attribute> {
    let attrs = function.attrs.iter().filter(|attr| is_instrument(attr));
    attrs.map(|attr| instrument(attr, function)).collect()
}

fn sibling_attributes(function: &Function) -> Vec<Attribute> {
    let attrs = function.attrs.iter().filter_map(|attr| {
        if is_instrument(attr) {
            return Some(instrument(attr, function));
        }
        (is_lint(attr) || is_condition(attr)).then(|| attr.clone())
    });
    attrs.collect()
}

fn is_lint(attr: &Attribute) -> bool {
    ["allow", "warn", "deny", "forbid", "expect"]
        .iter()
        .any(|lint| attr.path().is_ident(lint))
}

fn is_condition(attr: &Attribute) -> bool {
    attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr")
}

/// `#[instrument]` names its span after the function that it stands on: after the user's, here.
fn instrument(attr: &Attribute, function: &Function) -> Attribute {
    let mut attr = attr.clone();
    let name = function.name();
    let named = generated!(name = #name);
    match &mut attr.meta {
        Meta::Path(path) => {
            let path = path.clone();
            attr.meta = syn::parse_quote!(#path(#named));
        }
        Meta::List(list) => {
            let mut tokens = list.tokens.clone().into_iter();
            let has_name = match tokens.next() {
                Some(proc_macro2::TokenTree::Literal(_)) => true,
                Some(_) => mentions(
                    top_level(&list.tokens),
                    &Ident::new("name", Span::call_site()),
                ),
                None => false,
            };
            if !has_name {
                let rest = &list.tokens;
                list.tokens = generated!(#named, #rest);
            }
        }
        Meta::NameValue(_) => {}
    }
    attr
}

/// The tokens without what stands in their groups.
fn top_level(tokens: &TokenStream) -> TokenStream {
    let flat = tokens.clone().into_iter();
    flat.filter(|token| !matches!(token, proc_macro2::TokenTree::Group(_)))
        .collect()
}
