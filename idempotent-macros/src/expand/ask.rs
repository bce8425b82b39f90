//! Calls of the functions that the attribute names: guard, condition, loader, look-up.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident};
use syn::{Generics, Token};

use super::signature::without_lifetimes;
use super::{generated, located, read};
use crate::resolve::Question;

/// One of those functions, and the span that its errors belong to.
pub(super) struct Ask<'a> {
    pub(super) question: &'a Question,
    pub(super) span: Span,
    /// The runtime's path.
    rt: TokenStream,
    /// The type of its first parameter.
    first: TokenStream,
    /// The job's own generics, whose lifetimes its types are said without.
    generics: &'a Generics,
}

impl<'a> Ask<'a> {
    pub(super) fn new(
        question: &'a Question,
        rt: &TokenStream,
        first: TokenStream,
        generics: &'a Generics,
    ) -> Self {
        let last = question.path.path.segments.last();
        let span = last.map_or_else(Span::call_site, |last| last.ident.span());
        Self {
            question,
            span,
            rt: rt.clone(),
            first,
            generics,
        }
    }

    /// `paid(__run.conn(), Clone::clone(&order_id)).await`, before the body.
    pub(super) fn before(&self, connection: &TokenStream) -> TokenStream {
        let call = self.unasked(connection);
        generated!(#call.await)
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
        let call = self.call(connection, &arguments);
        generated!(#call.await)
    }

    /// Clones the arguments for a call after the body.
    pub(super) fn keep(&self, role: &str) -> TokenStream {
        let values = self.question.arguments.iter();
        let clones = values.map(read::clone);
        let names = self.names(role);
        generated!(#(let #names = #clones;)*)
    }

    /// `<_ as FromAnswer<_>>::from_answer`: where there is no such `From`, the compiler says so at the
    /// `_`, which is where this function is named.
    pub(super) fn convert(&self) -> TokenStream {
        self.method(&generated!(FromAnswer<_>), "from_answer")
    }

    /// `<_ as GuardAnswer<_>>::verdict(answer)`: where it is no such answer, the compiler says so at
    /// the `_`.
    pub(super) fn by(&self, kind: &TokenStream, method: &str, value: &TokenStream) -> TokenStream {
        let method = self.method(kind, method);
        generated!(#method(#value))
    }

    fn method(&self, kind: &TokenStream, method: &str) -> TokenStream {
        let (rt, place) = (&self.rt, Token![_](self.span));
        let method = Ident::new(method, Span::mixed_site());
        generated!(<#place as #rt::#kind>::#method)
    }

    fn names(&self, role: &str) -> impl Iterator<Item = Ident> {
        let names = 0..self.question.arguments.len();
        names.map(move |at| format_ident!("__{role}_{at}", span = Span::mixed_site()))
    }

    fn call(&self, connection: &TokenStream, arguments: &[TokenStream]) -> TokenStream {
        let path = &self.question.path;
        let function = match arguments.len() {
            // The runtime knows the calls of so many arguments.
            0..=8 => {
                let (first, types) = (&self.first, self.types());
                let kind = generated!(Takes<(&mut #first, #(#types,)*), _>);
                self.by(&kind, "function", &path.to_token_stream())
            }
            _ => path.to_token_stream(),
        };
        let arguments = arguments.iter().map(|value| located(self.span, value));
        let call = generated!(#function(#connection #(, #arguments)*));
        self.by(&generated!(Awaited<_>), "future", &call)
    }

    /// The arguments' types, as far as they show.
    fn types(&self) -> impl Iterator<Item = TokenStream> {
        let values = self.question.arguments.iter();
        values.map(|value| match &value.ty {
            Some(ty) => without_lifetimes(ty, self.generics).into_token_stream(),
            None => generated!(_),
        })
    }
}
