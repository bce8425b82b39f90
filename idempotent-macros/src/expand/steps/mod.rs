//! What runs around the body, in line: no closure, no box, so that `Send` and lifetimes are what
//! the user's own types make them.
//!
//! - `mod.rs`: the order of things; claim, body, result
//! - [`questions`]: what the user's other functions are asked, and what their answers lead to
//!
//! key and inputs, claim, condition, guard, look-up, body, guard again, end. What the run ends with
//! is the value of a block, and the runtime ends it, in one place: an `.await` is what costs the
//! compiler most, and each early end would be one.

mod questions;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{Lifetime, Token};

use super::ask::Ask;
use super::body::Body;
use super::signature::without_lifetimes;
use super::{angles, end, generated, parens, read, runtime, site, start};
use crate::function::first::Kind;
use crate::resolve::{Frame, Plan, Question};

/// All of it, up to the value of the outer function.
pub(super) fn all(frame: &Frame, plan: &Plan, body: &Body) -> TokenStream {
    let steps = Steps::of(frame, plan);
    let (private, label) = (&steps.private, label());
    let inside = [
        steps.before().unwrap_or_default(),
        steps.condition(),
        steps.guard(),
        steps.reconcile(),
        steps.keep_for_the_guard(),
        steps.run(body),
        steps.after().unwrap_or_default(),
        steps.guard_again(),
        generated!(#private::End::Done(__value)),
    ];
    let parts = [
        site::site(plan, &steps.private),
        read::for_editors(frame).unwrap_or_default(),
        read::patterns(frame, &plan.bound),
        steps.contract(),
        read::key(frame, plan, &steps.rt),
        read::inputs(frame, plan, &steps.rt),
        steps.claim(),
        steps.keep_for_existing(),
        generated!(let __end = #label: { #(#inside)* };),
        steps.loaded().unwrap_or_default(),
        generated!(#private::end(__run, __contract, __end).await),
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
        let open =
            (first.kind == Kind::Leased).then(|| generated!(let mut __run = __claim.open();));
        generated! {
            #store
            let #run = match #private::#begin::<#ty, _>(
                __site, store, __key, __inputs,
            ).await {
                ::core::result::Result::Ok(__run) => __run,
                ::core::result::Result::Err(__instead) => {
                    return __contract.without_run(__instead);
                }
            };
            #open
        }
    }

    /// A connection for a leased run to read through, if something is asked before the body.
    fn before(&self) -> Option<TokenStream> {
        let asks = self.plan.guard.is_some() || self.plan.skip_if.is_some();
        let reads = asks && self.plan.kind == Kind::Leased;
        reads.then(|| self.or_refused(&generated!(before())))
    }

    fn run(&self, body: &Body) -> TokenStream {
        let private = &self.private;
        let call = body.call(self.frame, &generated!(__run.first()));
        let to_result = self.to_result();
        let constraint = self.plan.unique.as_ref().map(|_| self.constraint());
        let ended = self.ends(&generated!(__end));
        generated! {
            let __ran = __run.watch().body(#call).await;
            #to_result
            #constraint
            let __value = match #private::End::ran(__ran) {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__end) => #ended,
            };
        }
    }

    /// Whether the attribute's constraint says that the work was done before.
    fn constraint(&self) -> TokenStream {
        let (private, chained) = (&self.private, self.chained());
        let read = match self.plan.existing.is_some() {
            true => "known_by_constraint",
            false => "constraint",
        };
        let said = self.unless(read, &generated!(__run.constraint(__failed).await), None);
        generated! {
            let __failed = match &__ran {
                ::core::result::Result::Ok(::core::result::Result::Err(__error)) => {
                    use #private::{ChainOfAsRef as _, ChainOfError as _, NoChain as _};
                    let __chain = (&&#private::Chain(__error)).links();
                    ::core::option::Option::Some(__run.violation(#chained(__chain)))
                }
                _ => ::core::option::Option::None,
            };
            #said
        }
    }

    /// `<Alias as JobResult>::into_result(__ran)`, where the body does not plainly return a `Result`:
    /// where it returns none, that is the error, and not what is done with it here.
    fn to_result(&self) -> Option<TokenStream> {
        let output = &self.frame.function.output;
        let ty = output.ty.as_ref().filter(|_| output.result.is_none())?;
        let rt = &self.rt;
        // Both ends of the path are the user's, and so its place is.
        let of = angles(ty, &generated!(#ty as #rt::JobResult));
        let none = angles(ty, &TokenStream::new());
        let arguments = parens(end(ty), generated!(__ran));
        Some(generated! {
            let __ran = match __ran {
                ::core::result::Result::Ok(__ran) => {
                    ::core::result::Result::Ok(#of::into_result::#none #arguments)
                }
                ::core::result::Result::Err(__error) => ::core::result::Result::Err(__error),
            };
        })
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

    /// The transaction that completes a leased job, if the guard is asked in it.
    fn after(&self) -> Option<TokenStream> {
        let asks = self.plan.guard.is_some() && self.plan.kind == Kind::Leased;
        asks.then(|| self.or_refused(&generated!(after())))
    }

    /// Awaits a step of the runtime.
    fn or_refused(&self, step: &TokenStream) -> TokenStream {
        self.unless("refused", &generated!(__run.#step.await), None)
    }

    /// Unless what was said ends the run: `End::guard(said, convert)` tells.
    fn unless(&self, read: &str, said: &TokenStream, from: Option<&Ask<'_>>) -> TokenStream {
        let private = &self.private;
        let read = Ident::new(read, Span::mixed_site());
        let convert = from.map(Ask::convert);
        let ended = self.ends(&generated!(__end));
        // Apart from the `if` that reads it: no borrow of the call may last into it.
        generated! {
            let __said = #said;
            if let ::core::option::Option::Some(__end) = #private::End::#read(__said, #convert) {
                #ended
            }
        }
    }

    /// `break '__end …`: what the run ends with.
    fn ends(&self, with: &TokenStream) -> TokenStream {
        let label = label();
        generated!(break #label #with)
    }
}

/// Of the block whose value is what the run ends with.
fn label() -> Lifetime {
    Lifetime::new("'__end", Span::mixed_site())
}
