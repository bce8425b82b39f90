//! Calls of the functions that the attribute names: guard, condition, loader, look-up.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident};
use syn::Token;

use super::{colons, generated, located, parens, read};
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

    /// `paid(__run.conn(), Clone::clone(&order_id)).await`, before the body.
    pub(super) fn before(&self, connection: &TokenStream) -> TokenStream {
        self.answer(&self.unasked(connection))
    }

    /// The same, not yet awaited.
    pub(super) fn unasked(&self, connection: &TokenStream) -> TokenStream {
        let arguments = self.question.arguments.iter();
        let arguments: Vec<_> = arguments.map(read::clone).collect();
        self.call(connection, &arguments)
    }

    /// The same after the body, which has taken the arguments: with the clones of [`keep`].
    ///
    /// [`keep`]: Self::keep
    pub(super) fn after(&self, role: &str, connection: &TokenStream) -> TokenStream {
        let arguments: Vec<_> = self.names(role).map(ToTokens::into_token_stream).collect();
        self.answer(&self.call(connection, &arguments))
    }

    /// Clones the arguments for a call after the body.
    pub(super) fn keep(&self, role: &str) -> TokenStream {
        let values = self.question.arguments.iter();
        let clones = values.map(read::clone);
        let names = self.names(role);
        generated!(#(let #names = #clones;)*)
    }

    /// `<_ as FromAnswer<_>>::from_answer(__error)`: where there is no such `From`, the compiler says
    /// so at the `_`, which is where this function is named.
    pub(super) fn convert(&self, rt: &TokenStream) -> TokenStream {
        let place = Token![_](self.span);
        generated!(<#place as #rt::FromAnswer<_>>::from_answer(__error))
    }

    /// `Ok(…)`: a pattern of what this function answers, whose mismatch is this function's.
    pub(super) fn ok(&self, inner: &TokenStream) -> TokenStream {
        let (open, inner) = (colons(self.span), parens(self.span, inner.clone()));
        generated!(#open core::result::Result::Ok #inner)
    }

    /// `Err(__error)`
    pub(super) fn err(&self) -> TokenStream {
        let (open, inner) = (colons(self.span), parens(self.span, generated!(__error)));
        generated!(#open core::result::Result::Err #inner)
    }

    /// `Some(__found)`
    pub(super) fn some(&self) -> TokenStream {
        let (open, inner) = (colons(self.span), parens(self.span, generated!(__found)));
        generated!(#open core::option::Option::Some #inner)
    }

    fn names(&self, role: &str) -> impl Iterator<Item = Ident> {
        let names = 0..self.question.arguments.len();
        names.map(move |at| format_ident!("__{role}_{at}", span = Span::mixed_site()))
    }

    fn call(&self, connection: &TokenStream, arguments: &[TokenStream]) -> TokenStream {
        let path = &self.question.path;
        let arguments = arguments.iter().map(|value| located(self.span, value));
        let arguments = parens(self.span, generated!(#connection #(, #arguments)*));
        generated!(#path #arguments)
    }

    fn answer(&self, call: &TokenStream) -> TokenStream {
        located(self.span, &generated!(#call.await))
    }
}
