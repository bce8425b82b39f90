//! The `#[idempotent]` attribute and `#[derive(KeyPart)]`.
//!
//! This crate is an implementation detail of `idempotent-runtime`: depend on that one, which
//! re-exports both macros, documents their arguments and defines what their expansions call. The
//! two are released together, because what passes between them is private.
//!
//! How the attribute works, one module a step:
//!
//! ```text
//! attribute  the pipeline, and what is emitted on errors
//! args       the attribute's arguments, recovered one by one
//! template   the key's text, which knows nothing of functions
//! function   the function, its body kept as raw tokens
//! resolve    placeholders meet parameters: the only one that sees both
//! expand     a valid model into tokens: the only one that quotes
//! problems   the only one that makes compile errors
//! ```

mod args;
mod attribute;
mod expand;
mod function;
mod key_part;
mod problems;
mod resolve;
mod template;

use proc_macro::TokenStream;

/// Makes an `async fn` safe to run again: see `idempotent_runtime::idempotent`.
#[proc_macro_attribute]
pub fn idempotent(args: TokenStream, item: TokenStream) -> TokenStream {
    attribute::idempotent(args.into(), item.into()).into()
}

/// Lets a newtype or a field-less enum stand in a key: see `idempotent_runtime::KeyPart`.
#[proc_macro_derive(KeyPart, attributes(key_part))]
pub fn key_part(item: TokenStream) -> TokenStream {
    key_part::derive(item.into()).into()
}
