//! The function that the attribute stands on: its signature taken apart, its body kept as the
//! tokens that the user wrote. A body that syn never reads keeps its spans, its half-typed lines,
//! and the errors of a plain `async fn`.
//!
//! - `mod.rs`: reading it
//! - [`rules`]: what a job may not be
//! - [`first`]: the first parameter, which says what kind of job it is
//! - [`output`]: the return type
//! - [`pattern`]: the names that a parameter's pattern binds

pub(crate) mod first;
pub(crate) mod output;
pub(crate) mod pattern;
mod rules;
#[cfg(test)]
mod tests;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, FnArg, Ident, Pat, Receiver, Signature, Type, Visibility};

use crate::problems::Problems;
use first::First;
use output::Output;

/// A function that can be a job, or what could be read of one.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The body, braces included, as it was written.
    pub(crate) body: Group,
    /// The first parameter; none where it is not one that a job can have.
    pub(crate) first: Option<First>,
    /// The parameters after it.
    pub(crate) params: Vec<Param>,
    pub(crate) output: Output,
    /// Whether it says `self` or `Self`: then its body needs a method, not a nested function.
    pub(crate) says_self: bool,
}

/// A parameter after the first.
pub(crate) struct Param {
    /// Its place in the signature, the receiver counted.
    pub(crate) index: usize,
    pub(crate) pat: Pat,
    pub(crate) ty: Type,
}

impl Function {
    /// Reads a function. `None` if it is none: what is wrong is reported, and the item is to be
    /// emitted as it stands.
    pub(crate) fn parse(item: TokenStream, problems: &mut Problems) -> Option<Self> {
        let (attrs, vis, sig, body) = match read.parse2(item.clone()) {
            Ok(parts) => parts,
            Err(_) => {
                rules::not_a_function(&item, problems);
                return None;
            }
        };
        let TokenTree::Group(body) = body else {
            rules::no_body(&sig, problems);
            return None;
        };
        if rules::rewritten(&sig, problems) {
            return None;
        }
        let mut function = Self {
            output: Output::read(&sig, problems),
            says_self: rules::says_self(&sig, &body),
            attrs,
            vis,
            sig,
            body,
            first: None,
            params: Vec::new(),
        };
        rules::check(&mut function, problems);
        function.split_parameters(problems);
        Some(function)
    }

    /// The name that is recorded if none is given.
    pub(crate) fn name(&self) -> String {
        self.sig.ident.unraw().to_string()
    }

    /// `&self` and the like.
    pub(crate) fn receiver(&self) -> Option<&Receiver> {
        self.sig.receiver()
    }

    fn split_parameters(&mut self, problems: &mut Problems) {
        let skip = usize::from(self.receiver().is_some());
        self.first = First::read(&self.sig, problems);
        let first = self.first.as_ref().map(|first| first.index);
        let unusable = first.is_none() && first::looks_like_one(&self.sig);
        for (index, argument) in self.sig.inputs.iter().enumerate().skip(skip) {
            let FnArg::Typed(typed) = argument else {
                continue;
            };
            if Some(index) == first || unusable && index == skip {
                continue;
            }
            self.params.push(Param {
                index,
                pat: (*typed.pat).clone(),
                ty: (*typed.ty).clone(),
            });
        }
    }
}

impl Param {
    /// The name, where the pattern is nothing but a name.
    pub(crate) fn plain_name(&self) -> Option<&Ident> {
        match pattern::peel(&self.pat) {
            Pat::Ident(name) if name.subpat.is_none() => Some(&name.ident),
            _ => None,
        }
    }

    /// The name that it has in the outer function: its own, or one that no one can name where the
    /// pattern is more than a name.
    ///
    /// The outer function uses every parameter, and so takes no name with a `_` before it: Clippy
    /// would ask the user why it is used.
    pub(crate) fn outer_name(&self) -> Ident {
        let name = match self.plain_name() {
            Some(name) if !name.to_string().starts_with('_') => return name.clone(),
            Some(name) => name.to_string().trim_start_matches('_').to_owned(),
            None => String::new(),
        };
        let usable = name != "store" && syn::parse_str::<Ident>(&name).is_ok();
        match usable {
            true => Ident::new(&name, Span::mixed_site()),
            false => format_ident!("argument_{}", self.index, span = Span::mixed_site()),
        }
    }
}

type Parts = (Vec<Attribute>, Visibility, Signature, TokenTree);

fn read(input: ParseStream) -> syn::Result<Parts> {
    let attrs = input.call(Attribute::parse_outer)?;
    let vis = input.parse()?;
    let sig = input.parse()?;
    let body: TokenTree = input.parse()?;
    let is_body = match &body {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(semicolon) => semicolon.as_char() == ';',
        _ => false,
    };
    match is_body {
        true => Ok((attrs, vis, sig, body)),
        false => Err(syn::Error::new_spanned(body, "expected a body")),
    }
}

/// Inside parentheses and the invisible groups that `macro_rules!` leaves.
pub(crate) fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

/// Whether `name` occurs anywhere in the tokens.
pub(crate) fn mentions(tokens: impl ToTokens, name: &Ident) -> bool {
    fn search(tokens: TokenStream, name: &Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == *name,
            TokenTree::Group(group) => search(group.stream(), name),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    search(tokens.to_token_stream(), name)
}
