//! The pipeline of `#[idempotent]`: arguments and function are read apart, meet, and are expanded
//! only if nothing is wrong with either.
//!
//! If something is, the function is emitted all the same, as its callers see it: they type-check,
//! an editor keeps working inside the body, and each mistake is one error.

#[cfg(test)]
mod spans;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;

use crate::args::Args;
use crate::expand;
use crate::function::Function;
use crate::problems::Problems;
use crate::resolve::resolve;

/// Expands `#[idempotent(args)] item`.
pub(crate) fn idempotent(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let mut expansion = expansion(args, item, &mut problems);
    expansion.extend(problems.into_compile_errors());
    expansion
}

fn expansion(args: TokenStream, item: TokenStream, problems: &mut Problems) -> TokenStream {
    let args = Args::parse(args, problems);
    let Some(function) = Function::parse(item.clone(), problems) else {
        return item;
    };
    match resolve(args, function, problems) {
        (frame, Some(plan)) => expand::job(&frame, &plan),
        (frame, None) => expand::stand_in(&frame),
    }
}
