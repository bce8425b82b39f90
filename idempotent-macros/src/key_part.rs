//! `#[derive(KeyPart)]`: a newtype is written as what it holds, a field-less enum as its variant's
//! name.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DataStruct, DeriveInput, Fields, Ident, Index, Member, Path};

use crate::problems::Problems;

/// Expands the derive.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let input = match syn::parse2::<DeriveInput>(item) {
        Ok(input) => input,
        Err(error) => {
            problems.report_syntax(&error);
            return problems.into_compile_errors();
        }
    };
    let runtime = runtime(&input, &mut problems);
    let write = match &input.data {
        Data::Struct(data) => newtype(&input.ident, data, &runtime, &mut problems),
        Data::Enum(data) => names(&input.ident, data, &mut problems),
        Data::Union(data) => {
            problems
                .report(&data.union_token, "a union cannot be part of a key")
                .help("which of its fields is alive is not known");
            Write::broken()
        }
    };
    let implementation = implementation(&input, &runtime, &write);
    let errors = problems.into_compile_errors();
    quote_spanned!(Span::mixed_site()=> #implementation #errors)
}

/// How the part is written, and the field whose type must be a part itself.
struct Write {
    body: TokenStream,
    field: Option<syn::Type>,
}

impl Write {
    /// A stand-in that compiles: the mistake is told elsewhere.
    fn broken() -> Self {
        Self {
            body: quote_spanned!(Span::mixed_site()=> let _ = part;),
            field: None,
        }
    }
}

fn newtype(
    name: &Ident,
    data: &DataStruct,
    runtime: &TokenStream,
    problems: &mut Problems,
) -> Write {
    let mut fields = data.fields.iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        let problem = match &data.fields {
            Fields::Unit => {
                problems.report(name, format!("`{name}` holds nothing to put in a key"))
            }
            fields => problems.report(
                fields,
                format!(
                    "`{name}` has {} fields; a part of a key is a newtype, with one",
                    fields.len()
                ),
            ),
        };
        problem.help("name the fields in the key, `<value.field>`, or implement `KeyPart` by hand");
        return Write::broken();
    };
    let member = match &field.ident {
        Some(name) => Member::Named(name.clone()),
        None => Member::Unnamed(Index {
            index: 0,
            span: Span::mixed_site(),
        }),
    };
    // The type is said, so that a bound that it does not meet underlines it.
    let ty = &field.ty;
    Write {
        body: quote_spanned! {Span::mixed_site()=>
            <#ty as #runtime::KeyPart>::write(&self.#member, part);
        },
        field: Some(ty.clone()),
    }
}

fn names(name: &Ident, data: &DataEnum, problems: &mut Problems) -> Write {
    let holding = data
        .variants
        .iter()
        .filter(|variant| !matches!(variant.fields, Fields::Unit));
    let mut broken = false;
    for variant in holding {
        broken = true;
        problems
            .report(
                &variant.fields,
                format!(
                    "`{}` holds data; an enum in a key has names only",
                    variant.ident
                ),
            )
            .help("put the data in the key by itself, or implement `KeyPart` by hand");
    }
    if data.variants.is_empty() {
        problems.report(name, format!("`{name}` has no variants to put in a key"));
        broken = true;
    }
    if broken {
        return Write::broken();
    }
    let arms = data.variants.iter().map(|variant| {
        use syn::ext::IdentExt;
        let ident = &variant.ident;
        let text = ident.unraw().to_string();
        quote_spanned!(Span::mixed_site()=> Self::#ident => #text,)
    });
    Write {
        body: quote_spanned! {Span::mixed_site()=>
            part.push_str(match self { #(#arms)* });
        },
        field: None,
    }
}

fn implementation(input: &DeriveInput, runtime: &TokenStream, write: &Write) -> TokenStream {
    let name = &input.ident;
    let (generics, arguments, where_clause) = input.generics.split_for_impl();
    let body = &write.body;
    let bound = write.field.as_ref().map(|field| {
        let colon = syn::Token![:](field.span());
        quote_spanned!(Span::mixed_site()=> #field #colon #runtime::KeyPart,)
    });
    // A bound on a type without parameters would be checked at every use instead of here.
    let bound = bound.filter(|_| !input.generics.params.is_empty());
    let predicates = where_clause.map(|clause| clause.predicates.iter());
    let predicates = predicates.into_iter().flatten();
    let where_clause = match (&bound, where_clause) {
        (None, None) => TokenStream::new(),
        _ => quote_spanned!(Span::mixed_site()=> where #(#predicates,)* #bound),
    };
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #generics #runtime::KeyPart for #name #arguments #where_clause {
            fn write(&self, part: &mut #runtime::KeyWriter<'_>) {
                #body
            }
        }
    }
}

/// `#[key_part(crate = path)]`
fn runtime(input: &DeriveInput, problems: &mut Problems) -> TokenStream {
    let mut path = None;
    for attr in &input.attrs {
        if !attr.path().is_ident("key_part") {
            continue;
        }
        let read = attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the only argument is `crate = path`"));
            }
            path = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        });
        if let Err(error) = read {
            problems.report_syntax(&error);
        }
    }
    match path {
        Some(path) => path.into_token_stream(),
        None => quote_spanned!(Span::mixed_site()=> ::idempotent_runtime),
    }
}
