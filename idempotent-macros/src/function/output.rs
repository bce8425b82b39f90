//! The return type: a `Result`, by that name or by any alias of it, that owns what it holds.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{
    Lifetime, ParenthesizedGenericArguments, ReturnType, Signature, Type, TypeFnPtr, TypeImplTrait,
    TypeReference,
};

use super::first::generic_types;
use super::peel;
use crate::problems::{Problems, code};

/// What a job returns.
pub(crate) struct Output {
    /// The type, where one is written.
    pub(crate) ty: Option<Type>,
    /// `T` and `E`, where the type is written as `Result<T, E>`.
    pub(crate) result: Option<(Type, Type)>,
    /// Whether it is not a type that a job can return.
    pub(crate) refused: Option<Refused>,
}

/// Why a return type was refused; callers are then shown something near it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    NoResult,
    Opaque,
    Borrowed,
}

impl Output {
    /// Reads the return type, and says what is wrong with it.
    pub(super) fn read(sig: &Signature, problems: &mut Problems) -> Self {
        let ReturnType::Type(_, ty) = &sig.output else {
            problems
                .report(
                    &sig.ident,
                    "a job returns a `Result`: it can fail to run at all",
                )
                .help("write `-> Result<(), E>`, where `E: From<idempotent_runtime::Error>`");
            return Self {
                ty: None,
                result: None,
                refused: Some(Refused::NoResult),
            };
        };
        let refused = refuse(ty, problems);
        Self {
            ty: Some((**ty).clone()),
            result: split(ty),
            refused,
        }
    }
}

fn refuse(ty: &Type, problems: &mut Problems) -> Option<Refused> {
    if is_no_result(ty) {
        problems
            .report(ty, "a job returns a `Result`: it can fail to run at all")
            .help(format!(
                "write `Result<{}, E>`, where `E: From<idempotent_runtime::Error>`",
                owned(ty)
            ));
        return Some(Refused::NoResult);
    }
    let mut opaque = Find::default();
    opaque.visit_type(ty);
    if let Some(place) = opaque.opaque {
        problems
            .report(
                &place,
                "the result is stored for retries: its type must have a name",
            )
            .help("`Result<T, E>` with a `T` that is `Serialize` and `Deserialize`");
        return Some(Refused::Opaque);
    }
    if let Some(place) = opaque.borrowed {
        let what = match split(ty) {
            Some((_, error)) if holds(&error, &place) => "error",
            _ => "result",
        };
        let why = match what {
            "error" => "an error outlives the call that made it",
            _ => "the result is stored for retries",
        };
        problems
            .report(&place, format!("the {what} of a job cannot borrow: {why}"))
            .help("return what owns its data, such as `String` for `&str`");
        return Some(Refused::Borrowed);
    }
    None
}

/// How a type that is not a `Result` would stand in one.
fn owned(ty: &Type) -> String {
    match peel(ty) {
        Type::ImplTrait(_) => "T".to_owned(),
        Type::Reference(_) => "String".to_owned(),
        Type::Never(_) => "()".to_owned(),
        ty => code(ty),
    }
}

/// Whether this is surely not a `Result`. A path of another name may be an alias of one.
fn is_no_result(ty: &Type) -> bool {
    const NONE: [&str; 24] = [
        "String", "Option", "Vec", "Box", "Arc", "Rc", "HashMap", "HashSet", "BTreeMap", "bool",
        "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
        "i128", "isize",
    ];
    match peel(ty) {
        Type::Path(path) => {
            let last = path.path.segments.last();
            last.is_some_and(|last| {
                NONE.iter().any(|name| last.ident == name)
                    || last.ident == "f32"
                    || last.ident == "f64"
            })
        }
        Type::Tuple(_)
        | Type::Reference(_)
        | Type::ImplTrait(_)
        | Type::Array(_)
        | Type::Slice(_)
        | Type::Never(_)
        | Type::Ptr(_)
        | Type::FnPtr(_)
        | Type::TraitObject(_) => true,
        _ => false,
    }
}

/// `T` and `E` of a type that is written `Result<T, E>`.
fn split(ty: &Type) -> Option<(Type, Type)> {
    let Type::Path(path) = peel(ty) else {
        return None;
    };
    let last = path.path.segments.last()?;
    if path.qself.is_some() || last.ident != "Result" {
        return None;
    }
    match generic_types(&last.arguments).as_slice() {
        [value, error] => Some(((*value).clone(), (*error).clone())),
        _ => None,
    }
}

fn holds(ty: &Type, place: &TokenStream) -> bool {
    let mut found = Find::default();
    found.visit_type(ty);
    found
        .borrowed
        .is_some_and(|found| found.to_string() == place.to_string())
}

/// Finds what borrows and what is opaque. Types of functions are passed over: their references
/// are their callers'.
#[derive(Default)]
struct Find {
    opaque: Option<TokenStream>,
    borrowed: Option<TokenStream>,
}

impl<'ast> Visit<'ast> for Find {
    fn visit_type_impl_trait(&mut self, ty: &'ast TypeImplTrait) {
        self.opaque.get_or_insert_with(|| ty.to_token_stream());
    }

    fn visit_type_reference(&mut self, ty: &'ast TypeReference) {
        self.borrowed.get_or_insert_with(|| ty.to_token_stream());
        visit::visit_type_reference(self, ty);
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.borrowed
                .get_or_insert_with(|| lifetime.to_token_stream());
        }
    }

    fn visit_parenthesized_generic_arguments(&mut self, _: &'ast ParenthesizedGenericArguments) {}

    fn visit_type_fn_ptr(&mut self, _: &'ast TypeFnPtr) {}
}
