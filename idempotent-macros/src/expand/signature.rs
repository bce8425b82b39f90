//! The outer function's head: what callers see.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, FnArg, GenericParam, Generics, Lifetime, Receiver, ReceiverKind, Type,
    TypeImplTrait, TypeReference,
};

use super::{angles, colons, generated, parens, runtime, start};
use crate::function::first::Kind;
use crate::function::output::Refused;
use crate::function::{Function, mentions};
use crate::resolve::Frame;

/// Attributes, visibility and signature.
pub(super) fn outer(frame: &Frame) -> TokenStream {
    let function = &frame.function;
    let sig = &function.sig;
    let attrs = outer_attributes(&function.attrs, function.says_self);
    let params = params(frame);
    let output = output(frame);
    let where_clause = &sig.generics.where_clause;
    let generics = generics(
        &sig.generics,
        &generated!(#(#params)* #output #where_clause),
    );
    let params = parens(sig.paren_token.span.join(), generated!(#(#params),*));
    let (vis, asyncness, fn_token, name) =
        (&function.vis, &sig.asyncness, &sig.fn_token, &sig.ident);
    let unsafety = match &sig.safety {
        syn::Safety::Unsafe(token) => Some(token),
        _ => None,
    };
    generated! {
        #(#attrs)*
        #vis #asyncness #unsafety #fn_token #name #generics #params #output #where_clause
    }
}

fn params(frame: &Frame) -> Vec<TokenStream> {
    let function = &frame.function;
    let mut params = Vec::new();
    for (index, argument) in function.sig.inputs.iter().enumerate() {
        match argument {
            FnArg::Receiver(receiver) => params.push(outer_receiver(receiver)),
            FnArg::Typed(typed) => {
                if let Some(param) = function.params.iter().find(|param| param.index == index) {
                    let attrs = param_attributes(&typed.attrs);
                    let (name, ty) = (param.outer_name(), &typed.ty);
                    let colon = &typed.colon_token;
                    // The body's parameter is of the same name, and it is said there.
                    let odd = name.to_string().contains(char::is_uppercase);
                    let odd = odd.then(|| generated!(#[allow(non_snake_case)]));
                    params.push(generated!(#odd #(#attrs)* #name #colon #ty));
                } else if !frame.has_own_store {
                    params.push(store(frame));
                }
            }
        }
    }
    params
}

/// `store: impl Within<'_, SqliteConnection>`
fn store(frame: &Frame) -> TokenStream {
    let Some(first) = &frame.function.first else {
        // Whatever callers pass: what is wrong is told at the parameter.
        return generated!(store: impl ::core::marker::Sized);
    };
    let ty = without_lifetimes(&first.ty, &frame.function.sig.generics);
    let span = start(&ty);
    let rt = runtime(frame.runtime.as_ref(), span);
    match first.kind {
        Kind::Transactional => {
            let arguments = angles(&ty, &generated!('_, #ty));
            generated!(store: impl #rt::Within #arguments)
        }
        Kind::Leased => {
            let arguments = angles(&ty, &ty.to_token_stream());
            generated!(store: impl #rt::IntoStore #arguments)
        }
    }
}

/// `-> Idempotent<Result<Receipt, ShopError>>`
fn output(frame: &Frame) -> TokenStream {
    let output = &frame.function.output;
    let span = output.ty.as_ref().map_or_else(Span::call_site, start);
    let rt = runtime(frame.runtime.as_ref(), span);
    let ty = match (&output.ty, output.refused) {
        (Some(ty), None) => ty.to_token_stream(),
        (ty, Some(Refused::NoResult)) => {
            let value = match ty {
                Some(ty) => shown(ty),
                None => generated!(()),
            };
            generated!(::core::result::Result<#value, #rt::Error>)
        }
        (Some(ty), Some(Refused::Opaque | Refused::Borrowed)) => shown(ty),
        (None, _) => generated!(::core::result::Result<(), #rt::Error>),
    };
    let skip = match frame.can_skip {
        true => None,
        false => Some(generated!(, #rt::Never)),
    };
    let arguments = angles(&output.ty, &generated!(#ty #skip));
    generated!(-> #rt::Idempotent #arguments)
}

/// A refused type, as callers can be shown it: it borrows for ever, and `impl Trait` is nothing.
fn shown(ty: &Type) -> TokenStream {
    struct Show;
    impl VisitMut for Show {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            *lifetime = Lifetime::new("'static", lifetime.span());
        }
        fn visit_type_reference_mut(&mut self, ty: &mut TypeReference) {
            ty.lifetime = Some(Lifetime::new("'static", ty.and_token.span));
            visit_mut::visit_type_mut(self, &mut ty.elem);
        }
        fn visit_type_mut(&mut self, ty: &mut Type) {
            if let Type::ImplTrait(TypeImplTrait { .. }) = ty {
                *ty = Type::Verbatim(generated!(()));
            }
            visit_mut::visit_type_mut(self, ty);
        }
    }
    let mut ty = ty.clone();
    Show.visit_type_mut(&mut ty);
    ty.into_token_stream()
}

/// The generics without the lifetimes that only the first parameter used.
fn generics(generics: &Generics, used_in: &TokenStream) -> TokenStream {
    let mut kept = generics.clone();
    kept.params = generics
        .params
        .iter()
        .filter(|parameter| {
            let GenericParam::Lifetime(lifetime) = parameter else {
                return true;
            };
            let name = &lifetime.lifetime.ident;
            let same = |other: &GenericParam| match other {
                GenericParam::Lifetime(other) => other.lifetime.ident == *name,
                _ => false,
            };
            let mut others = generics.params.iter().filter(|other| !same(other));
            mentions(used_in, name) || others.any(|other| mentions(other, name))
        })
        .cloned()
        .collect();
    match kept.params.is_empty() {
        true => TokenStream::new(),
        false => kept.into_token_stream(),
    }
}

/// The type with `'_` for the function's own lifetimes: inside the function, and for its callers,
/// they are whatever the store's are.
pub(super) fn without_lifetimes(ty: &Type, generics: &Generics) -> Type {
    struct Erase<'a>(&'a Generics);
    impl VisitMut for Erase<'_> {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            let mut own = self.0.lifetimes();
            if own.any(|parameter| parameter.lifetime == *lifetime) {
                *lifetime = Lifetime::new("'_", lifetime.span());
            }
        }
    }
    let mut ty = ty.clone();
    Erase(generics).visit_type_mut(&mut ty);
    ty
}

fn outer_receiver(receiver: &Receiver) -> TokenStream {
    let mut receiver = receiver.clone();
    receiver.attrs = param_attributes(&receiver.attrs);
    if !matches!(receiver.kind, ReceiverKind::Reference(..)) {
        receiver.mutability = None;
    }
    receiver.into_token_stream()
}

/// What stays outside: all but `#[instrument]`. Where the body is in a method of its own, an
/// expectation is met there, and here is only a permission.
fn outer_attributes(attrs: &[Attribute], has_sibling: bool) -> Vec<Attribute> {
    let outside = attrs.iter().filter(|attr| !is_instrument(attr)).cloned();
    match has_sibling {
        true => outside.map(permitted).collect(),
        false => outside.collect(),
    }
}

/// A parameter with `#[cfg]` is refused, and shown to callers as it is.
fn param_attributes(attrs: &[Attribute]) -> Vec<Attribute> {
    let kept = attrs
        .iter()
        .filter(|attr| !attr.path().is_ident("cfg_attr"));
    kept.cloned().map(permitted).collect()
}

/// `#[expect(…)]` as `#[allow(…)]`.
fn permitted(mut attr: Attribute) -> Attribute {
    if let syn::Meta::List(list) = &mut attr.meta
        && list.path.is_ident("expect")
    {
        let span = list.path.segments[0].ident.span();
        list.path = Ident::new("allow", span).into();
    }
    attr
}

/// `#[instrument]`, under any path.
pub(super) fn is_instrument(attr: &Attribute) -> bool {
    let last = attr.path().segments.last();
    last.is_some_and(|last| last.ident == "instrument")
}

/// `Function` names for a call: `::<T, N>`, without lifetimes, which a call cannot always say.
pub(super) fn turbofish(function: &Function) -> Option<TokenStream> {
    let names = function
        .sig
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Lifetime(_) => None,
            GenericParam::Type(ty) => Some(&ty.ident),
            GenericParam::Const(constant) => Some(&constant.ident),
        });
    let names: Vec<_> = names.collect();
    let open = colons(Span::mixed_site());
    (!names.is_empty()).then(|| generated!(#open<#(#names),*>))
}
