//! What runs around the body, in line: no closure, no box, so that `Send` and lifetimes are what
//! the user's own types make them.
//!
//! key and inputs, claim, condition, guard, look-up, body, result, guard again, completion. Every
//! early end consumes the run: `skip`, `fail` and `complete` take it.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

use super::ask::Ask;
use super::body::Body;
use super::signature::without_lifetimes;
use super::{angles, colons, generated, located, read, runtime, start};
use crate::args::{Millis, Unique, Window};
use crate::function::first::Kind;
use crate::resolve::{Frame, Plan, Question};

/// All of it, up to the value of the outer function.
pub(super) fn all(frame: &Frame, plan: &Plan, body: &Body) -> TokenStream {
    let steps = Steps::of(frame, plan);
    let parts = [
        steps.site(),
        read::for_editors(frame).unwrap_or_default(),
        read::patterns(frame, &plan.bound),
        steps.contract(),
        read::key(frame, plan, &steps.private),
        read::inputs(frame, plan, &steps.private),
        steps.claim(),
        steps.condition(),
        steps.guard(),
        steps.reconcile(),
        steps.keep(),
        steps.run(body),
        steps.result(),
        steps.guard_again(),
        generated!(__contract.performed(__run.complete(__stored).await, __value)),
    ];
    parts.into_iter().collect()
}

struct Steps<'a> {
    frame: &'a Frame,
    plan: &'a Plan,
    /// The runtime's path.
    rt: TokenStream,
    /// The part of it that only expansions call.
    private: TokenStream,
    /// `__run.conn()`
    connection: TokenStream,
    guard: Option<Ask<'a>>,
    existing: Option<Ask<'a>>,
}

impl<'a> Steps<'a> {
    fn of(frame: &'a Frame, plan: &'a Plan) -> Self {
        let rt = runtime(frame.runtime.as_ref(), Span::mixed_site());
        let ask = |question: &'a Option<Question>| question.as_ref().map(Ask::new);
        Self {
            frame,
            plan,
            private: generated!(#rt::__private),
            rt,
            connection: generated!(__run.conn()),
            guard: ask(&plan.guard),
            existing: ask(&plan.existing),
        }
    }

    /// What is known of the job before any call.
    fn site(&self) -> TokenStream {
        let (private, name) = (&self.private, &self.plan.name);
        let lease = self
            .plan
            .lease
            .map(|lease| setting("lease", &duration(lease)));
        let wait = self.plan.wait.map(|wait| setting("wait", &duration(wait)));
        let retain = self
            .plan
            .retain
            .map(|retain| setting("retain", &duration(retain)));
        let window = self.plan.key_window.as_ref().map(|window| {
            let window = match window {
                Window::Forever => generated!(::core::option::Option::None),
                Window::Millis(millis) => {
                    let millis = duration(*millis);
                    generated!(::core::option::Option::Some(#millis))
                }
            };
            setting("key_window", &window)
        });
        let guard = self.guard.as_ref().map(|guard| {
            let text = &guard.question.text;
            generated!(.guard(#text))
        });
        let unique = self.plan.unique.as_ref().map(unique);
        generated! {
            static __IDEMPOTENT_SITE: #private::Site = #private::Site::new(
                #name,
                ::core::module_path!(),
                ::core::file!(),
                ::core::line!(),
            ) #wait #retain #lease #window #guard #unique;
        }
    }

    /// Checks the bounds of the result and the error, here only and at the user's own types.
    fn contract(&self) -> TokenStream {
        // A job without a return type is refused before it gets here.
        let ty = self.frame.function.output.ty.as_ref();
        let span = ty.map_or_else(Span::mixed_site, start);
        let path = runtime(self.frame.runtime.as_ref(), span);
        let open = colons(span);
        let arguments = angles(span, &ty.to_token_stream());
        let made = generated!(#path::__private::contract_of #open #arguments);
        generated!(let __contract = #made(&__IDEMPOTENT_SITE);)
    }

    fn claim(&self) -> TokenStream {
        let Some(first) = &self.frame.function.first else {
            return TokenStream::new();
        };
        let private = &self.private;
        let ty = without_lifetimes(&first.ty, &self.frame.function.sig.generics);
        let (begin, store_of, run) = match first.kind {
            Kind::Transactional => (
                generated!(transactional),
                generated!(store_for_connection),
                generated!(mut __run),
            ),
            Kind::Leased => (
                generated!(leased),
                generated!(store_for_job),
                generated!(mut __claim),
            ),
        };
        let store = self
            .plan
            .store
            .as_ref()
            .map(|store| generated!(let store = #private::#store_of::<#ty, _>(&#store);));
        let open = (first.kind == Kind::Leased).then(|| self.open());
        generated! {
            #store
            let #run = match #private::#begin::<#ty, _>(
                &__IDEMPOTENT_SITE, store, __key, __inputs,
            ).await {
                ::core::result::Result::Ok(#private::Begun::Run(__run)) => __run,
                ::core::result::Result::Ok(#private::Begun::Stored(__stored)) => {
                    return __contract.replay(__stored);
                }
                ::core::result::Result::Err(__error) => {
                    return ::core::result::Result::Err(__contract.error(__error));
                }
            };
            #open
        }
    }

    /// A leased run, with a connection to read through if something is asked before the body.
    fn open(&self) -> TokenStream {
        let asks = self.plan.guard.is_some() || self.plan.skip_if.is_some();
        let before = asks.then(|| self.or_fail(&generated!(before())));
        generated! {
            let mut __run = __claim.open();
            #before
        }
    }

    fn condition(&self) -> TokenStream {
        let Some(question) = &self.plan.skip_if else {
            return TokenStream::new();
        };
        let (private, rt) = (&self.private, &self.rt);
        let ask = Ask::new(question);
        let call = ask.before(&self.connection);
        let answer = self.answer("condition", &call);
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

    fn guard(&self) -> TokenStream {
        let Some(guard) = &self.guard else {
            return TokenStream::new();
        };
        let (private, rt) = (&self.private, &self.rt);
        let call = guard.before(&self.connection);
        let answer = self.answer(self.verdict(), &call);
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

    /// A leftover attempt is looked up before it is repeated.
    fn reconcile(&self) -> TokenStream {
        let Some(question) = &self.plan.reconcile else {
            return TokenStream::new();
        };
        let ask = Ask::new(question);
        let call = ask.before(&generated!(__run.first()));
        let (found, none, err) = (ask.ok(&ask.some()), ask.ok(&generated!(_)), ask.err());
        let error = fail(&ask.convert());
        let settle = self.settle(&generated!(__found));
        let after = self.or_fail(&generated!(after()));
        generated! {
            if __run.is_leftover() {
                let __answer = #call;
                match __answer {
                    #found => {
                        #settle
                        #after
                        return __contract.replayed(__run.complete(__stored).await, __value);
                    }
                    #none => {}
                    #err => #error,
                }
            }
        }
    }

    /// Clones what is needed once the body has taken the arguments.
    fn keep(&self) -> TokenStream {
        let guard = self.guard.as_ref().map(|guard| guard.keep("again"));
        let after_violation = self.plan.unique.is_some();
        let existing = self.existing.as_ref().filter(|_| after_violation);
        let existing = existing.map(|existing| existing.keep("existing"));
        generated!(#guard #existing)
    }

    fn run(&self, body: &Body) -> TokenStream {
        let call = body.call(self.frame, &generated!(__run.first()));
        let error = fail(&generated!(__contract.error(__error)));
        let private = &self.private;
        let failed = match self.plan.unique.is_some() {
            true => {
                let skip = self.violated();
                let failed = fail(&generated!(__error));
                generated! {{
                    let __violated = {
                        use #private::{ChainOfAsRef as _, ChainOfError as _};
                        __run.violation((&&#private::Chain(&__error)).links())
                    };
                    if let ::core::option::Option::Some(__skip) = __run.already(__violated).await {
                        #skip
                    }
                    #failed
                }}
            }
            false => fail(&generated!(__error)),
        };
        let deferred = self.plan.unique.is_some().then(|| self.deferred());
        generated! {
            let __watch = __run.watch();
            let __value = match __watch.body(#call).await {
                ::core::result::Result::Ok(::core::result::Result::Ok(__value)) => __value,
                ::core::result::Result::Ok(::core::result::Result::Err(__error)) => #failed,
                ::core::result::Result::Err(__error) => #error,
            };
            #deferred
        }
    }

    /// Constraints that the database checks late are checked now.
    fn deferred(&self) -> TokenStream {
        let skip = self.violated();
        let error = fail(&generated!(__contract.error(__error)));
        generated! {
            match __run.deferred().await {
                ::core::result::Result::Ok(::core::option::Option::None) => {}
                ::core::result::Result::Ok(::core::option::Option::Some(__skip)) => { #skip }
                ::core::result::Result::Err(__error) => #error,
            }
        }
    }

    /// What a violated constraint leads to, the body's writes undone; `skip` says which it was.
    fn violated(&self) -> TokenStream {
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
        let ok = existing.ok(&generated!(__found));
        let err = existing.err();
        let found = located(existing.span, &generated!(__found));
        generated! {
            let __answer = #call;
            match __answer {
                #ok => return __contract.existing(__run.skip().await, #found),
                #err => #error,
            }
        }
    }

    fn result(&self) -> TokenStream {
        let settle = self.settle(&generated!(__value));
        let after = (self.plan.kind == Kind::Leased).then(|| self.or_fail(&generated!(after())));
        generated!(#settle #after)
    }

    /// Encodes the value, and takes what is decoded from that.
    fn settle(&self, value: &TokenStream) -> TokenStream {
        let error = fail(&generated!(__contract.error(__error)));
        generated! {
            let (__value, __stored) = match __contract.settle(#value) {
                ::core::result::Result::Ok(__settled) => __settled,
                ::core::result::Result::Err(__error) => #error,
            };
        }
    }

    fn guard_again(&self) -> TokenStream {
        let Some(guard) = &self.guard else {
            return TokenStream::new();
        };
        let private = &self.private;
        let call = guard.after("again", &self.connection);
        let answer = self.answer(self.verdict(), &call);
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
    fn verdict(&self) -> &'static str {
        match self.plan.may_be_missing {
            true => "verdict",
            false => "certain",
        }
    }

    /// `let __answer = verdict(paid(…).await);`, apart from the `match` that reads it: no borrow of
    /// the call may last into its arms.
    fn answer(&self, reader: &str, call: &TokenStream) -> TokenStream {
        let private = &self.private;
        let reader = proc_macro2::Ident::new(reader, Span::mixed_site());
        generated!(let __answer = #private::#reader(#call);)
    }

    /// Awaits a step of the runtime.
    fn or_fail(&self, step: &TokenStream) -> TokenStream {
        let error = fail(&generated!(__contract.error(__error)));
        generated! {
            if let ::core::result::Result::Err(__error) = __run.#step.await {
                #error
            }
        }
    }
}

/// Undoes the run, and returns the error.
fn fail(error: &TokenStream) -> TokenStream {
    generated!(return ::core::result::Result::Err(__run.fail(#error).await))
}

fn setting(name: &str, value: &TokenStream) -> TokenStream {
    let name = proc_macro2::Ident::new(name, Span::mixed_site());
    generated!(.#name(#value))
}

fn duration(millis: Millis) -> TokenStream {
    generated!(::core::time::Duration::from_millis(#millis))
}

fn unique(unique: &Unique) -> TokenStream {
    use syn::ext::IdentExt;
    match unique {
        Unique::Named(name) => {
            let name = name.value();
            generated!(.unique_named(#name))
        }
        Unique::Columns(table, columns) => {
            let table = table.unraw().to_string();
            let columns = columns.iter().map(|column| column.unraw().to_string());
            generated!(.unique_columns(#table, &[#(#columns),*]))
        }
    }
}
