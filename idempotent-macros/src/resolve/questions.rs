//! The functions that the attribute names, and what they are given.

use syn::ExprPath;
use syn::ext::IdentExt;

use super::names::{Names, Value};
use super::{KeyPiece, Question};
use crate::args::Call;
use crate::function::{Function, Param, pattern};
use crate::problems::{Problems, code};

impl Names {
    /// A call that the attribute asks for, with its arguments found.
    pub(super) fn question(
        &self,
        call: &Call,
        key: &[KeyPiece],
        function: &Function,
        problems: &mut Problems,
    ) -> Question {
        self.check_shadowed(&call.path, function, problems);
        let arguments = match &call.arguments {
            None => of_key(key),
            Some(dotted) => dotted
                .iter()
                .filter_map(|dotted| {
                    let name = self.find(&dotted.root, problems)?;
                    Some(name.value(dotted.fields.clone(), dotted.root.span()))
                })
                .collect(),
        };
        Question {
            path: call.path.clone(),
            text: code(&call.path),
            arguments,
        }
    }

    /// A guard of the same name as an argument: the argument would be called.
    fn check_shadowed(&self, path: &ExprPath, function: &Function, problems: &mut Problems) {
        let Some(name) = path.path.get_ident() else {
            return;
        };
        let text = name.unraw().to_string();
        let plain = |param: &Param| {
            pattern::bindings(&param.pat, &param.ty)
                .iter()
                .any(|binding| binding.ident.unraw() == text)
        };
        if function.params.iter().any(plain) {
            problems
                .report(
                    path,
                    format!("`{text}` is an argument here, not a function"),
                )
                .help(format!("say where the function is, such as `self::{text}`"));
        }
    }
}

/// The key's values, each once.
fn of_key(key: &[KeyPiece]) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for value in key.iter().filter_map(KeyPiece::value) {
        if found.iter().all(|known| known.name != value.name) {
            found.push(value.clone());
        }
    }
    found
}
