//! What the user's other functions are asked, and what their answers lead to.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;

use super::super::ask::Ask;
use super::super::generated;
use super::super::signature::without_lifetimes;
use super::{Steps, fail};

impl Steps<'_> {
    /// The precondition: true or no record, and there is nothing to do.
    pub(super) fn condition(&self) -> TokenStream {
        let Some(question) = &self.plan.skip_if else {
            return TokenStream::new();
        };
        let (private, rt) = (&self.private, &self.rt);
        let ask = self.ask(question);
        let call = ask.before(&self.connection);
        let answer = self.answer(&ask, "ConditionAnswer", &call);
        let error = fail(&ask.convert());
        generated! {
            #answer
            match __answer {
                ::core::result::Result::Ok(#private::Verdict::NotYet) => {}
                ::core::result::Result::Ok(_) => {
                    return __contract.skipped(__run.skip().await, #rt::Skip::Condition);
                }
                ::core::result::Result::Err(__error) => #error,
            }
        }
    }

    /// The guard, before the body.
    pub(super) fn guard(&self) -> TokenStream {
        let Some(guard) = &self.guard else {
            return TokenStream::new();
        };
        let (private, rt) = (&self.private, &self.rt);
        let call = guard.before(&self.connection);
        let answer = self.answer(guard, self.guard_answer(), &call);
        let done = match &self.existing {
            Some(existing) => self.load(existing, &existing.before(&self.connection)),
            None => generated! {
                return __contract.skipped(__run.skip().await, #rt::Skip::Guard);
            },
        };
        let arms = match self.plan.may_be_missing {
            true => generated! {
                ::core::result::Result::Ok(#private::Verdict::Done) => { #done }
                ::core::result::Result::Ok(#private::Verdict::Missing) => {
                    return __contract.skipped(__run.skip().await, #rt::Skip::Missing);
                }
            },
            false => generated!(::core::result::Result::Ok(_) => { #done }),
        };
        let error = fail(&guard.convert());
        generated! {
            #answer
            match __answer {
                ::core::result::Result::Ok(#private::Verdict::NotYet) => {}
                #arms
                ::core::result::Result::Err(__error) => #error,
            }
        }
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
        let lost = fail(&generated!(__contract.error(__error)));
        let kind = self.about_the_value("LookUpAnswer");
        let answer = ask.by(&kind, "found", &generated!(__answer));
        let error = fail(&ask.convert());
        let settle = self.settle(&generated!(__found));
        let after = self.or_fail(&generated!(after()));
        generated! {
            if __run.is_leftover() {
                let __watch = __run.watch();
                let __answer = match __watch.body(#call).await {
                    ::core::result::Result::Ok(__answer) => __answer,
                    ::core::result::Result::Err(__error) => #lost,
                };
                match #answer {
                    ::core::result::Result::Ok(::core::option::Option::Some(__found)) => {
                        #settle
                        #after
                        return __contract.replayed(__run.complete(__stored).await, __value);
                    }
                    ::core::result::Result::Ok(_) => {}
                    ::core::result::Result::Err(__error) => #error,
                }
            }
        }
    }

    /// Clones what is needed once the body has taken the arguments.
    pub(super) fn keep(&self) -> TokenStream {
        let guard = self.guard.as_ref().map(|guard| guard.keep("again"));
        let after_violation = self.plan.unique.is_some();
        let existing = self.existing.as_ref().filter(|_| after_violation);
        let existing = existing.map(|existing| existing.keep("existing"));
        generated!(#guard #existing)
    }

    /// What a violated constraint leads to, the body's writes undone; `skip` says which it was.
    pub(super) fn violated(&self) -> TokenStream {
        let Some(existing) = &self.existing else {
            return generated!(return __contract.skipped(__run.skip().await, __skip););
        };
        let load = self.load(existing, &existing.after("existing", &self.connection));
        generated! {
            let _ = __skip;
            #load
        }
    }

    /// Answers with the value that is already there.
    fn load(&self, existing: &Ask<'_>, call: &TokenStream) -> TokenStream {
        let error = fail(&existing.convert());
        let kind = self.about_the_value("ExistingAnswer");
        let answer = existing.by(&kind, "loaded", call);
        generated! {
            let __answer = #answer;
            match __answer {
                ::core::result::Result::Ok(__found) => {
                    return __contract.existing(__run.skip().await, __found);
                }
                ::core::result::Result::Err(__error) => #error,
            }
        }
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
        let private = &self.private;
        let call = guard.after("again", &self.connection);
        let answer = self.answer(guard, self.guard_answer(), &call);
        let unmet = fail(&generated!(__contract.error(__error)));
        let error = fail(&guard.convert());
        generated! {
            #answer
            match __answer {
                ::core::result::Result::Ok(#private::Verdict::NotYet) => {
                    let __error = __run.unmet();
                    #unmet
                }
                ::core::result::Result::Ok(_) => {}
                ::core::result::Result::Err(__error) => #error,
            }
        }
    }

    /// How the guard's answer is read: with `existing`, a job that cannot skip has no word for a
    /// missing record.
    fn guard_answer(&self) -> &'static str {
        match self.plan.may_be_missing {
            true => "GuardAnswer",
            false => "CertainAnswer",
        }
    }

    /// `let __answer = <_ as GuardAnswer<_>>::verdict(paid(…).await);`, apart from the `match` that
    /// reads it: no borrow of the call may last into its arms.
    fn answer(&self, ask: &Ask<'_>, kind: &str, call: &TokenStream) -> TokenStream {
        let kind = Ident::new(kind, Span::mixed_site());
        let answer = ask.by(&generated!(#kind<_>), "verdict", call);
        generated!(let __answer = #answer;)
    }
}
