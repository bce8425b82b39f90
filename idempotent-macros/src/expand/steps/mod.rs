//! What runs around the body, in line: no closure, no box, so that `Send` and lifetimes are what
//! the user's own types make them.
//!
//! - `mod.rs`: the order of things; claim, body, result
//! - [`questions`]: what the user's other functions are asked, and what their answers lead to
//!
//! key and inputs, claim, condition, guard, look-up, body, result, guard again, completion. Every
//! early end consumes the run: `skip`, `fail` and `complete` take it.

mod questions;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::Token;

use super::ask::Ask;
use super::body::Body;
use super::signature::without_lifetimes;
use super::{angles, end, generated, parens, read, runtime, site, start};
use crate::function::first::Kind;
use crate::resolve::{Frame, Plan, Question};

/// All of it, up to the value of the outer function.
pub(super) fn all(frame: &Frame, plan: &Plan, body: &Body) -> TokenStream {
    let steps = Steps::of(frame, plan);
    let parts = [
        site::site(plan, &steps.private),
        read::for_editors(frame).unwrap_or_default(),
        read::patterns(frame, &plan.bound),
        steps.contract(),
        read::key(frame, plan, &steps.rt),
        read::inputs(frame, plan, &steps.rt),
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
        let mut steps = Self {
            frame,
            plan,
            private: generated!(#rt::__private),
            rt,
            connection: generated!(__run.conn()),
            guard: None,
            existing: None,
        };
        steps.guard = plan.guard.as_ref().map(|guard| steps.ask(guard));
        steps.existing = plan.existing.as_ref().map(|existing| steps.ask(existing));
        steps
    }

    /// A function that is asked through the connection.
    fn ask(&self, question: &'a Question) -> Ask<'a> {
        let private = &self.private;
        let function = &self.frame.function;
        let generics = &function.sig.generics;
        let ty = function
            .first
            .as_ref()
            .map(|first| without_lifetimes(&first.ty, generics));
        let connection = match self.plan.kind {
            Kind::Transactional => ty.to_token_stream(),
            Kind::Leased => generated!(#private::ConnectionOf<#ty>),
        };
        Ask::new(question, &self.rt, connection, generics)
    }

    /// Checks the bounds of the result and the error, here only and at the user's own types.
    fn contract(&self) -> TokenStream {
        let (private, rt) = (&self.private, &self.rt);
        let (value, error) = self.value_and_error();
        generated! {
            let __contract = #private::Contract::new(
                __site,
                <#value as #rt::Stored>::codec(),
                <#error as #rt::FromRuntime>::from_runtime,
            );
        }
    }

    /// The job's `T` and `E`.
    fn value_and_error(&self) -> (TokenStream, TokenStream) {
        match &self.frame.function.output.result {
            Some((value, error)) => (value.to_token_stream(), error.to_token_stream()),
            None => (self.part_of_alias("ValueOf"), self.part_of_alias("ErrorOf")),
        }
    }

    /// `ValueOf<anyhow::Result<T>>`, from the user's first token to the last.
    fn part_of_alias(&self, alias: &str) -> TokenStream {
        // A job without a return type is refused before it gets here.
        let ty = &self.frame.function.output.ty;
        let span = ty.as_ref().map_or_else(Span::mixed_site, start);
        let rt = runtime(self.frame.runtime.as_ref(), span);
        let alias = Ident::new(alias, Span::mixed_site());
        let arguments = angles(&ty, &ty.to_token_stream());
        generated!(#rt::__private::#alias #arguments)
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
                __site, store, __key, __inputs,
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

    fn run(&self, body: &Body) -> TokenStream {
        let call = body.call(self.frame, &generated!(__run.first()));
        let error = fail(&generated!(__contract.error(__error)));
        let private = &self.private;
        let failed = match self.plan.unique.is_some() {
            true => {
                let (skip, chained) = (self.violated(), self.chained());
                let failed = fail(&generated!(__error));
                generated! {{
                    let __violated = {
                        use #private::{ChainOfAsRef as _, ChainOfError as _, NoChain as _};
                        let __chain = (&&#private::Chain(&__error)).links();
                        __run.violation(#chained(__chain))
                    };
                    if let ::core::option::Option::Some(__skip) = __run.already(__violated).await {
                        #skip
                    }
                    #failed
                }}
            }
            false => fail(&generated!(__error)),
        };
        let to_result = self.to_result();
        let deferred = self.plan.unique.is_some().then(|| self.deferred());
        generated! {
            let __watch = __run.watch();
            let __ran = match __watch.body(#call).await {
                ::core::result::Result::Ok(__ran) => __ran,
                ::core::result::Result::Err(__error) => #error,
            };
            #to_result
            let __value = match __ran {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => #failed,
            };
            #deferred
        }
    }

    /// `let __ran = <Alias as JobResult>::into_result(__ran);`, where the body does not plainly return
    /// a `Result`: where it returns none, that is the error, and not what is done with it here.
    fn to_result(&self) -> Option<TokenStream> {
        let output = &self.frame.function.output;
        let ty = output.ty.as_ref().filter(|_| output.result.is_none())?;
        let rt = &self.rt;
        // Both ends of the path are the user's, and so its place is.
        let of = angles(ty, &generated!(#ty as #rt::JobResult));
        let none = angles(ty, &TokenStream::new());
        let arguments = parens(end(ty), generated!(__ran));
        Some(generated!(let __ran = #of::into_result::#none #arguments;))
    }

    /// `<_ as Chained<E, _>>::chain`: where the error shows no chain, the compiler says so at the `_`,
    /// which is where the error's type begins.
    fn chained(&self) -> TokenStream {
        let (rt, (_, error)) = (&self.rt, self.value_and_error());
        let place = match &self.frame.function.output.result {
            Some((_, error)) => start(error),
            None => self
                .frame
                .function
                .output
                .ty
                .as_ref()
                .map_or_else(Span::mixed_site, start),
        };
        let place = Token![_](place);
        generated!(<#place as #rt::Chained<#error, _>>::chain)
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
