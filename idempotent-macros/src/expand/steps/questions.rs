//! What the user's other functions are asked, and what their answers lead to.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;

use super::super::ask::Ask;
use super::super::generated;
use super::super::signature::without_lifetimes;
use super::Steps;

impl Steps<'_> {
    /// The precondition: true or no record, and there is nothing to do.
    pub(super) fn condition(&self) -> TokenStream {
        let Some(question) = &self.plan.skip_if else {
            return TokenStream::new();
        };
        let ask = self.ask(question);
        let call = ask.before(&self.connection);
        let answer = self.answer(&ask, "ConditionAnswer", &call);
        self.unless("condition", &answer, Some(&ask))
    }

    /// The guard, before the body.
    pub(super) fn guard(&self) -> TokenStream {
        let Some(guard) = &self.guard else {
            return TokenStream::new();
        };
        let call = guard.before(&self.connection);
        let answer = self.answer(guard, self.guard_answer(), &call);
        let read = match (self.plan.existing.is_some(), self.plan.may_be_missing) {
            (false, _) => "guard",
            (true, false) => "known_by_guard",
            (true, true) => "known_or_missing",
        };
        self.unless(read, &answer, Some(guard))
    }

    /// A leftover attempt is looked up before it is repeated, and watched over as a body is: a slow
    /// look-up must not lose the lease.
    pub(super) fn reconcile(&self) -> TokenStream {
        let Some(question) = &self.plan.reconcile else {
            return TokenStream::new();
        };
        let function = &self.frame.function;
        let generics = &function.sig.generics;
        let first = function.first.as_ref();
        let job = first.map(|first| without_lifetimes(&first.ty, generics));
        let ask = Ask::new(question, &self.rt, job.to_token_stream(), generics);
        let call = ask.unasked(&generated!(__run.first()));
        let private = &self.private;
        let kind = self.about_the_value("LookUpAnswer");
        let answer = ask.by(&kind, "found", &generated!(__answer));
        let found = self.unless("found", &answer, Some(&ask));
        let lost = self.ends(&generated!(#private::End::Refused(__error)));
        generated! {
            if __run.is_leftover() {
                let __answer = match __run.watch().body(#call).await {
                    ::core::result::Result::Ok(__answer) => __answer,
                    ::core::result::Result::Err(__error) => #lost,
                };
                #found
            }
        }
    }

    /// Clones what the guard is asked with, once the body has taken the arguments.
    pub(super) fn keep_for_the_guard(&self) -> TokenStream {
        let guard = self.guard.as_ref();
        guard.map(|guard| guard.keep("again")).unwrap_or_default()
    }

    /// The same, for what is loaded in the end.
    pub(super) fn keep_for_existing(&self) -> TokenStream {
        let existing = self.existing.as_ref();
        let keep = existing.map(|existing| existing.keep("existing"));
        keep.unwrap_or_default()
    }

    /// Where the work was done before, the run ends with the value that is there.
    pub(super) fn loaded(&self) -> Option<TokenStream> {
        let existing = self.existing.as_ref()?;
        let private = &self.private;
        let call = existing.after("existing", &self.connection);
        let kind = self.about_the_value("ExistingAnswer");
        let (answer, convert) = (existing.by(&kind, "loaded", &call), existing.convert());
        Some(generated! {
            let __end = match __end.known() {
                ::core::result::Result::Ok(__end) => __end,
                ::core::result::Result::Err(()) => {
                    let __answer = #answer;
                    #private::End::existing(__answer, #convert)
                }
            };
        })
    }

    /// `ExistingAnswer<T, _>`, with the job's own `T`.
    fn about_the_value(&self, kind: &str) -> TokenStream {
        let kind = Ident::new(kind, Span::mixed_site());
        let (value, _) = self.value_and_error();
        generated!(#kind<#value, _>)
    }

    /// The guard, held to its word after the body.
    pub(super) fn guard_again(&self) -> TokenStream {
        let Some(guard) = &self.guard else {
            return TokenStream::new();
        };
        let call = guard.after("again", &self.connection);
        let answer = self.answer(guard, self.guard_answer(), &call);
        self.unless("guard_again", &answer, Some(guard))
    }

    /// How the guard's answer is read: with `existing`, a job that cannot skip has no word for a
    /// missing record.
    fn guard_answer(&self) -> &'static str {
        match self.plan.may_be_missing {
            true => "GuardAnswer",
            false => "CertainAnswer",
        }
    }

    /// `<_ as GuardAnswer<_>>::verdict(paid(…).await)`
    fn answer(&self, ask: &Ask<'_>, kind: &str, call: &TokenStream) -> TokenStream {
        let kind = Ident::new(kind, Span::mixed_site());
        ask.by(&generated!(#kind<_>), "verdict", call)
    }
}
