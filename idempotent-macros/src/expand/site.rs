//! What is known of a job before any call: one `static` beside its body.

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;

use super::generated;
use crate::args::{Millis, Unique, Window};
use crate::resolve::Plan;

/// The `static`, with the settings that the attribute gives; the runtime knows the others. In a
/// block of its own: a parameter of the body may have its name.
pub(super) fn site(plan: &Plan, private: &TokenStream) -> TokenStream {
    let name = &plan.name;
    let lease = plan.lease.map(|lease| setting("lease", &duration(lease)));
    let wait = plan.wait.map(|wait| setting("wait", &duration(wait)));
    let retain = plan
        .retain
        .map(|retain| setting("retain", &duration(retain)));
    let window = plan.key_window.as_ref().map(|window| {
        let window = match window {
            Window::Forever => generated!(::core::option::Option::None),
            Window::Millis(millis) => {
                let millis = duration(*millis);
                generated!(::core::option::Option::Some(#millis))
            }
        };
        setting("key_window", &window)
    });
    let guard = plan.guard.as_ref().map(|guard| {
        let text = &guard.text;
        generated!(.guard(#text))
    });
    let reconcile = plan.reconcile.as_ref().map(|_| generated!(.reconcile()));
    let unique = plan.unique.as_ref().map(unique);
    generated! {
        let __site = {
            static __IDEMPOTENT_SITE: #private::Site = #private::Site::new(
                #name,
                ::core::module_path!(),
                ::core::file!(),
                ::core::line!(),
            ) #wait #retain #lease #window #guard #reconcile #unique;
            &__IDEMPOTENT_SITE
        };
    }
}

fn setting(name: &str, value: &TokenStream) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    generated!(.#name(#value))
}

fn duration(millis: Millis) -> TokenStream {
    generated!(::core::time::Duration::from_millis(#millis))
}

fn unique(unique: &Unique) -> TokenStream {
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
