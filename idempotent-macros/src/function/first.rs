//! The first parameter: a connection makes a transactional job, a `Job` a leased one.

use quote::ToTokens;
use syn::{FnArg, GenericArgument, PathArguments, Signature, Type, TypeReference};

use super::peel;
use crate::problems::Problems;

/// The first parameter of a job.
pub(crate) struct First {
    /// Its place in the signature, the receiver counted.
    pub(crate) index: usize,
    pub(crate) kind: Kind,
    /// What stands behind `&mut`.
    pub(crate) ty: Type,
    /// Its name, where it has one.
    pub(crate) name: Option<syn::Ident>,
}

/// The two kinds of jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its effects are in the database.
    Transactional,
    /// It reaches outside the database.
    Leased,
}

impl First {
    /// Reads the first parameter, or says which two there are.
    pub(super) fn read(sig: &Signature, problems: &mut Problems) -> Option<Self> {
        let index = usize::from(sig.receiver().is_some());
        let Some(FnArg::Typed(typed)) = sig.inputs.iter().nth(index) else {
            let place = sig.ident.to_token_stream();
            problems
                .report(
                    &place,
                    format!("`{}` has no first parameter for its store", sig.ident),
                )
                .help(both_forms(sig));
            return None;
        };
        let name = match super::pattern::peel(&typed.pat) {
            syn::Pat::Ident(name) => Some(name.ident.clone()),
            _ => None,
        };
        let reference = match peel(&typed.ty) {
            Type::Reference(reference) => Some(reference),
            _ => None,
        };
        let (behind, mutable) = match reference {
            Some(TypeReference {
                elem, mutability, ..
            }) => (peel(elem), mutability.is_some()),
            None => (peel(&typed.ty), false),
        };
        let last = last_name(behind);
        let last = last.as_deref().unwrap_or_default();
        if last.ends_with("Pool") {
            problems
                .report(
                    &typed.ty,
                    "a job's writes must go through the transaction that completes its key, \
                     and a pool hands out others",
                )
                .help(both_forms(sig));
            return None;
        }
        if matches!(last, "Transaction" | "PoolConnection") {
            problems
                .report(
                    &typed.ty,
                    format!("a job takes the connection, not a `{last}`"),
                )
                .help("callers may still pass a transaction, and the job then joins it")
                .help(both_forms(sig));
            return None;
        }
        if !mutable {
            problems
                .report(
                    &typed.ty,
                    "the first parameter says what kind of job this is",
                )
                .help(both_forms(sig));
            return None;
        }
        Some(Self {
            index,
            kind: match last == "Job" {
                true => Kind::Leased,
                false => Kind::Transactional,
            },
            ty: behind.clone(),
            name,
        })
    }
}

/// Whether a first parameter that was refused was still meant to be the store's: then it is no
/// argument of the job.
pub(super) fn looks_like_one(sig: &Signature) -> bool {
    let index = usize::from(sig.receiver().is_some());
    let Some(FnArg::Typed(typed)) = sig.inputs.iter().nth(index) else {
        return false;
    };
    let behind = match peel(&typed.ty) {
        Type::Reference(reference) => peel(&reference.elem),
        other => other,
    };
    let last = last_name(behind).unwrap_or_default();
    last == "Job"
        || ["Pool", "Connection", "Transaction", "Store"]
            .iter()
            .any(|ending| last.ends_with(ending))
}

/// The last name of a path: `Job` of `idempotent_runtime::Job<'_, Sqlite>`.
fn last_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// The two forms, with this function's own name and its database, where that shows.
fn both_forms(sig: &Signature) -> String {
    let database = ["Postgres", "MySql"]
        .into_iter()
        .find(|database| {
            let text = sig.inputs.to_token_stream().to_string();
            text.contains(database)
                || text.contains(if *database == "Postgres" {
                    "Pg"
                } else {
                    "MySql"
                })
        })
        .unwrap_or("Sqlite");
    let connection = match database {
        "Postgres" => "PgConnection",
        "MySql" => "MySqlConnection",
        _ => "SqliteConnection",
    };
    let name = &sig.ident;
    format!(
        "`async fn {name}(conn: &mut {connection}, …)` if its effects are in the database only, \
         `async fn {name}(job: &mut Job<'_, {database}>, …)` if it reaches outside"
    )
}

/// The types among a path's generic arguments.
pub(super) fn generic_types(arguments: &PathArguments) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}
