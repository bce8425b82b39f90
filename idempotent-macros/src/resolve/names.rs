//! What a placeholder, a guard or a list can name, and how it is read.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::{Expr, Type};

use crate::args::Args;
use crate::function::{Function, pattern, peel};
use crate::problems::{Problems, list, nearest};

/// The names of a function.
pub(super) struct Names {
    pub(super) all: Vec<Name>,
    /// The function's name, for messages.
    function: String,
    /// The first parameter's.
    first: Option<String>,
    /// Whether a macro in a pattern hides names.
    hidden: bool,
}

/// One of them.
pub(super) struct Name {
    pub(super) text: String,
    /// The user's own token.
    ident: Ident,
    /// What it is called in the outer function.
    outer: Ident,
    /// The parameter that binds it: its place, and its type.
    pub(super) param: Option<(usize, Type)>,
    pub(super) role: Role,
    access: Access,
    ty: Option<Type>,
    pub(super) ignored: bool,
}

/// What a name is to the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Part of the work: in the key, or fingerprinted.
    Input,
    /// What the work is done with.
    Dependency,
    /// `self`.
    Receiver,
    /// A const parameter: part of the work, as it tells two instantiations apart.
    Constant,
}

/// How a name stands in the outer function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// As a value.
    Value,
    /// As a reference to it: it was bound by a pattern.
    Reference,
}

/// Something to read: a name, or fields of one.
#[derive(Clone)]
pub(crate) struct Value {
    /// As it is written: `order.id`.
    pub(crate) name: String,
    /// The name before the first dot.
    pub(crate) root: String,
    /// That name in the outer function.
    pub(crate) ident: Ident,
    pub(crate) fields: Vec<String>,
    pub(crate) access: Access,
    /// The type, where it shows and can be said in an expression.
    pub(crate) ty: Option<Type>,
    /// Where in the attribute it was written.
    pub(crate) place: Span,
}

impl Names {
    pub(super) fn of(function: &Function) -> Self {
        let mut all = Vec::new();
        if let Some(receiver) = function.receiver() {
            let token = receiver.self_token;
            all.push(Name {
                text: "self".to_owned(),
                ident: Ident::new("self", token.span),
                outer: Ident::new("self", token.span),
                param: None,
                role: Role::Receiver,
                access: Access::Value,
                ty: None,
                ignored: false,
            });
        }
        for param in &function.params {
            let role = role(&param.ty);
            let plain = param.plain_name().is_some();
            for binding in pattern::bindings(&param.pat, &param.ty) {
                all.push(Name {
                    text: binding.ident.unraw().to_string(),
                    outer: match plain {
                        true => param.outer_name(),
                        false => pattern::outer_name(&binding.ident),
                    },
                    ident: binding.ident,
                    param: Some((param.index, param.ty.clone())),
                    role,
                    access: match plain {
                        true => Access::Value,
                        false => Access::Reference,
                    },
                    ty: binding.ty,
                    ignored: false,
                });
            }
        }
        for parameter in function.sig.generics.const_params() {
            all.push(Name {
                text: parameter.ident.unraw().to_string(),
                ident: parameter.ident.clone(),
                outer: parameter.ident.clone(),
                param: None,
                role: Role::Constant,
                access: Access::Value,
                ty: Some(parameter.ty.clone()),
                ignored: false,
            });
        }
        let first = function
            .first
            .as_ref()
            .and_then(|first| first.name.as_ref());
        Self {
            all,
            function: function.name(),
            first: first.map(|name| name.unraw().to_string()),
            hidden: function
                .params
                .iter()
                .any(|param| pattern::has_macro(&param.pat)),
        }
    }

    /// What the store is taken from is a dependency.
    pub(super) fn take_out_store(&mut self, args: &Args, problems: &mut Problems) {
        let Some(root) = store_root(args) else {
            return;
        };
        if self.find(&root, problems).is_none() {
            return;
        }
        for name in self.all.iter_mut().filter(|name| root.unraw() == name.text) {
            if name.role == Role::Input {
                name.role = Role::Dependency;
            }
        }
    }

    pub(super) fn get(&self, text: &str) -> Option<&Name> {
        self.all.iter().find(|name| name.text == text)
    }

    /// Finds a name that stands as a token in the attribute, or says that there is none.
    pub(super) fn find(&self, ident: &Ident, problems: &mut Problems) -> Option<&Name> {
        let text = ident.unraw().to_string();
        let found = self.get(&text);
        if found.is_none() {
            let problem = problems.report(ident, self.missing(&text));
            if let Some(help) = self.suggestion(&text) {
                problem.help(help);
            }
        }
        found
    }

    /// What to say of a name that is not there.
    pub(super) fn missing(&self, text: &str) -> String {
        if self.is_first(text) {
            return format!("`{text}` is the first parameter, which is not part of the work");
        }
        format!("no argument named `{text}`")
    }

    /// The nearest name, and all there are.
    pub(super) fn suggestion(&self, text: &str) -> Option<String> {
        let names = || self.all.iter().map(|name| name.text.as_str());
        let has = match self.all.is_empty() {
            true => format!("`{}` has none besides the first", self.function),
            false => format!("`{}` has {}", self.function, list(names())),
        };
        let near = nearest(text, names()).filter(|_| !self.is_first(text));
        let near = near.map(|near| format!("did you mean `{near}`? "));
        let hidden = match self.hidden {
            true => "; what a macro in a pattern binds cannot be seen: name the parameter",
            false => "",
        };
        Some(format!("{}{has}{hidden}", near.unwrap_or_default()))
    }

    pub(super) fn is_first(&self, text: &str) -> bool {
        self.first.as_deref() == Some(text) && self.get(text).is_none()
    }

    /// The names, for a line that is ready to be used.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Name> {
        let inputs = |name: &&Name| name.role == Role::Input;
        self.all.iter().filter(inputs)
    }
}

impl Name {
    /// Reads it, or fields of it.
    pub(super) fn value(&self, fields: Vec<String>, place: Span) -> Value {
        let mut name = self.text.clone();
        for field in &fields {
            name.push('.');
            name.push_str(field);
        }
        let ty = self.ty.clone().filter(|_| fields.is_empty());
        Value {
            name,
            root: self.text.clone(),
            ident: self.outer.clone(),
            fields,
            access: self.access,
            ty: ty.filter(|ty| !is_opaque(ty)),
            place,
        }
    }

    /// Reads it as an input; its own token is the place.
    pub(super) fn input(&self) -> Value {
        self.value(Vec::new(), self.ident.span())
    }

    /// Its token in the signature.
    pub(super) fn ident(&self) -> &Ident {
        &self.ident
    }
}

/// The name that `store = …` begins with.
pub(super) fn store_root(args: &Args) -> Option<Ident> {
    fn root(expression: &Expr) -> Option<Ident> {
        match expression {
            Expr::Path(path) => path.path.get_ident().cloned(),
            Expr::Field(field) => root(&field.base),
            Expr::MethodCall(call) => root(&call.receiver),
            Expr::Paren(inner) => root(&inner.expr),
            Expr::Group(inner) => root(&inner.expr),
            _ => None,
        }
    }
    args.store.value().and_then(root)
}

/// Values are inputs, and so are `&str` and `&[T]`; other references are dependencies.
fn role(ty: &Type) -> Role {
    let Type::Reference(reference) = peel(ty) else {
        return Role::Input;
    };
    let text = match peel(&reference.elem) {
        Type::Path(path) => {
            path.qself.is_none()
                && path
                    .path
                    .segments
                    .last()
                    .is_some_and(|last| last.ident == "str")
        }
        Type::Slice(_) => true,
        _ => false,
    };
    match text && reference.mutability.is_none() {
        true => Role::Input,
        false => Role::Dependency,
    }
}

/// Whether a type holds `impl Trait`, which an expression cannot say.
fn is_opaque(ty: &Type) -> bool {
    crate::function::mentions(ty, &Ident::new("impl", Span::call_site()))
}
