//! The names that a pattern binds, and the same pattern as one that only borrows: the key and the
//! inputs are read before the body takes its arguments.
//!
//! A parameter is matched by reference, with `mut`, `ref` and every `&` of its pattern left out:
//! then each binding is a reference, whatever stands in between, and a binding that stood behind
//! `n` of those `&` is brought back to one reference by `&**…`.

use proc_macro2::Span;
use quote::format_ident;
use syn::{FieldPat, Ident, Member, Pat, PatIdent, PatWild, Token, Type};

/// A name that a pattern binds.
pub(crate) struct Binding {
    pub(crate) ident: Ident,
    /// How many `&` stood directly before the name.
    pub(crate) references: usize,
    /// The type, where it shows.
    pub(crate) ty: Option<Type>,
}

/// The names that `pat` binds, in order.
pub(crate) fn bindings(pat: &Pat, ty: &Type) -> Vec<Binding> {
    let mut found = Vec::new();
    match peel(pat) {
        // Alone it can be no constant, for that would not always match.
        Pat::Ident(name) if !binds(name) && !is_its_type(&name.ident, ty) => found.push(Binding {
            ident: name.ident.clone(),
            references: 0,
            ty: Some(ty.clone()),
        }),
        _ => collect(pat, Some(ty), 0, &mut found),
    }
    found
}

/// Whether a name is that of the type, and so its one value: `Marker: Marker`.
fn is_its_type(name: &Ident, ty: &Type) -> bool {
    let Type::Path(path) = super::peel(ty) else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == *name)
}

/// Whether names may be bound where no one can see them.
pub(crate) fn has_macro(pat: &Pat) -> bool {
    match pat {
        Pat::Macro(_) | Pat::Verbatim(_) => true,
        _ => children(pat).into_iter().any(has_macro),
    }
}

/// `pat` for a match by reference, with `_` for the names that are not `wanted`.
pub(crate) fn borrowed(pat: &Pat, wanted: &dyn Fn(&Ident) -> bool) -> Pat {
    let mut pat = pat.clone();
    borrow(&mut pat, wanted);
    pat
}

/// Inside parentheses.
pub(crate) fn peel(mut pat: &Pat) -> &Pat {
    while let Pat::Paren(paren) = pat {
        pat = &paren.pat;
    }
    pat
}

/// The name of a binding in the outer function, which reads all that it binds: one with a `_`
/// before it is hidden from Clippy, which would ask the user why it is used.
pub(crate) fn outer_name(ident: &Ident) -> Ident {
    match ident.to_string().strip_prefix('_') {
        Some(rest) => format_ident!("bound_{rest}", span = Span::mixed_site()),
        None => ident.clone(),
    }
}

/// A lone name with a capital is a constant or a unit struct, which binds nothing.
fn binds(name: &PatIdent) -> bool {
    let capital = name.ident.to_string().starts_with(char::is_uppercase);
    !capital || name.subpat.is_some() || name.by_ref.is_some() || name.mutability.is_some()
}

fn collect(pat: &Pat, ty: Option<&Type>, references: usize, found: &mut Vec<Binding>) {
    let ty = ty.map(super::peel);
    match pat {
        Pat::Ident(name) => {
            if binds(name) {
                found.push(Binding {
                    ident: name.ident.clone(),
                    references,
                    ty: ty.cloned(),
                });
            }
            if let Some((_, inner)) = &name.subpat {
                collect(inner, ty, 0, found);
            }
        }
        Pat::Paren(paren) => collect(&paren.pat, ty, references, found),
        Pat::Reference(reference) => {
            let behind = match ty {
                Some(Type::Reference(behind)) => Some(&*behind.elem),
                _ => None,
            };
            collect(&reference.pat, behind, references + 1, found);
        }
        Pat::Tuple(tuple) => {
            let types = match ty {
                Some(Type::Tuple(types)) if types.elems.len() == tuple.elems.len() => Some(types),
                _ => None,
            };
            let rest = tuple.elems.iter().any(|pat| matches!(pat, Pat::Rest(_)));
            for (at, element) in tuple.elems.iter().enumerate() {
                let ty = types
                    .filter(|_| !rest)
                    .and_then(|types| types.elems.get(at));
                collect(element, ty, 0, found);
            }
        }
        // Every case of an irrefutable choice binds the same names.
        Pat::Or(or) => {
            if let Some(first) = or.cases.first() {
                collect(first, ty, references, found);
            }
        }
        _ => {
            for child in children(pat) {
                collect(child, None, 0, found);
            }
        }
    }
}

fn children(pat: &Pat) -> Vec<&Pat> {
    match pat {
        Pat::Ident(name) => name.subpat.iter().map(|(_, inner)| &**inner).collect(),
        Pat::Or(or) => or.cases.iter().collect(),
        Pat::Paren(paren) => vec![&paren.pat],
        Pat::Reference(reference) => vec![&reference.pat],
        Pat::Slice(slice) => slice.elems.iter().collect(),
        Pat::Struct(fields) => fields.fields.iter().map(|field| &*field.pat).collect(),
        Pat::Tuple(tuple) => tuple.elems.iter().collect(),
        Pat::TupleStruct(tuple) => tuple.elems.iter().collect(),
        Pat::Type(typed) => vec![&typed.pat],
        _ => Vec::new(),
    }
}

fn borrow(pat: &mut Pat, wanted: &dyn Fn(&Ident) -> bool) {
    match pat {
        Pat::Ident(name) if binds(name) => {
            name.by_ref = None;
            name.mutability = None;
            if let Some((_, inner)) = &mut name.subpat {
                borrow(inner, wanted);
            }
            let outer = outer_name(&name.ident);
            if wanted(&name.ident) {
                name.ident = outer;
            } else {
                let inner = name.subpat.take();
                *pat = inner.map_or_else(wild, |(_, inner)| *inner);
            }
        }
        Pat::Or(or) => or.cases.iter_mut().for_each(|case| borrow(case, wanted)),
        Pat::Paren(paren) => borrow(&mut paren.pat, wanted),
        Pat::Reference(reference) => {
            borrow(&mut reference.pat, wanted);
            *pat = (*reference.pat).clone();
        }
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(|pat| borrow(pat, wanted)),
        Pat::Struct(fields) => fields.fields.iter_mut().for_each(|pat| field(pat, wanted)),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(|pat| borrow(pat, wanted)),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(|pat| borrow(pat, wanted)),
        Pat::Type(typed) => borrow(&mut typed.pat, wanted),
        _ => {}
    }
}

/// A field's shorthand, `Order { id, .. }`, needs its colon where the name gives way to `_`.
fn field(field: &mut FieldPat, wanted: &dyn Fn(&Ident) -> bool) {
    borrow(&mut field.pat, wanted);
    let same = match (&*field.pat, &field.member) {
        (Pat::Ident(name), Member::Named(member)) => name.ident == *member,
        _ => false,
    };
    if field.colon_token.is_none() && !same {
        field.colon_token = Some(Token![:](Span::mixed_site()));
    }
}

fn wild() -> Pat {
    Pat::Wild(PatWild {
        attrs: Vec::new(),
        underscore_token: Token![_](Span::mixed_site()),
    })
}
