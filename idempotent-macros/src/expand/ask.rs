//! Calls of the functions that the attribute names: guard, condition, loader, look-up.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident};

use super::{colons, generated, parens, read};
use crate::resolve::Question;

/// One of those functions, and the span that its errors belong to.
pub(super) struct Ask<'a> {
    pub(super) question: &'a Question,
    pub(super) span: Span,
}

impl<'a> Ask<'a> {
    pub(super) fn new(question: &'a Question) -> Self {
        let last = question.path.path.segments.last();
        let span = last.map_or_else(Span::call_site, |last| last.ident.span());
        Self { question, span }
    }

    /// `paid(__run.conn(), Clone::clone(&order_id))`, not yet awaited: the answer of a call before
    /// the body.
    pub(super) fn before(&self, connection: &TokenStream) -> TokenStream {
        let arguments = self.question.arguments.iter();
        let arguments: Vec<_> = arguments
            .map(|value| read::clone(value, self.span))
            .collect();
        self.call(connection, &arguments)
    }

    /// The same after the body, which has taken the arguments: with the clones of [`keep`].
    ///
    /// [`keep`]: Self::keep
    pub(super) fn after(&self, role: &str, connection: &TokenStream) -> TokenStream {
        let arguments: Vec<_> = self.names(role).map(ToTokens::into_token_stream).collect();
        self.call(connection, &arguments)
    }

    /// Clones the arguments for a call after the body.
    pub(super) fn keep(&self, role: &str) -> TokenStream {
        let values = self.question.arguments.iter();
        let clones = values.map(|value| read::clone(value, self.span));
        let names = self.names(role);
        generated!(#(let #names = #clones;)*)
    }

    /// `From::from(__error)`, whose errors are this function's.
    pub(super) fn convert(&self) -> TokenStream {
        let open = colons(self.span);
        let arguments = parens(self.span, generated!(__error));
        generated!(#open core::convert::From::from #arguments)
    }

    /// The pattern of what this function answers, whose mismatch is this function's: `Ok(name)`,
    /// `Ok(Some(name))` or `Ok(None)`.
    pub(super) fn pattern(&self, variant: &str, name: &str) -> TokenStream {
        let open = colons(self.span);
        let name = (!name.is_empty()).then(|| Ident::new(name, Span::mixed_site()));
        let inner = match variant {
            "" => name.to_token_stream(),
            _ => {
                let variant = Ident::new(variant, Span::mixed_site());
                let name = name.map(|name| parens(self.span, name.to_token_stream()));
                generated!(#open core::option::Option::#variant #name)
            }
        };
        let inner = parens(self.span, inner);
        generated!(#open core::result::Result::Ok #inner)
    }

    fn names(&self, role: &str) -> impl Iterator<Item = Ident> {
        let names = 0..self.question.arguments.len();
        names.map(move |at| format_ident!("__{role}_{at}", span = Span::mixed_site()))
    }

    fn call(&self, connection: &TokenStream, arguments: &[TokenStream]) -> TokenStream {
        let path = &self.question.path;
        let arguments = parens(self.span, generated!(#connection #(, #arguments)*));
        generated!(#path #arguments)
    }
}
