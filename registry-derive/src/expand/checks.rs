//! Code that is only compiled and never runs: every path as a field access, every declared verb as a trait bound, each
//! spanned at the author's tokens so that the compiler's message points there.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use registry_grammar::{ColumnKind, Columns, FieldPath, ResourceModel, SubresourceAttribute};
use syn::spanned::Spanned;

use super::fragments::object_type;

pub(super) fn emit(model: &ResourceModel) -> TokenStream {
    let paths = paths(model);
    let strategy = strategy(model);
    let subresources = model.subresources.iter().map(|declared| subresource(model, declared));
    if paths.is_empty() && strategy.is_empty() && model.subresources.is_empty() {
        return TokenStream::new();
    }
    let object = object_type(model);
    quote! {
        #[allow(dead_code, clippy::all, clippy::pedantic, reason = "compiled, never called")]
        fn checks(object: &#object) {
            use ::registry_core::expansion::HandlesAny as _;
            use ::registry_core::expansion::field::Present as _;
            use ::registry_core::expansion::field::class::{Classify as _, Unclassified as _};
            #(#paths)*
            #strategy
            #(#subresources)*
        }
    }
}

fn paths(model: &ResourceModel) -> Vec<TokenStream> {
    let columns = match &model.columns {
        Columns::Declared(columns) => columns.as_slice(),
        Columns::Slice(_) => &[],
    };
    let selectable = model.selectable.iter().flat_map(|path| [Some(path), path.other()]).flatten();
    let selectable = selectable.map(|path| classified(path, "is_selectable"));
    let columns = columns.iter().map(|column| classified(&column.path, column_check(column.kind)));
    let plain = selectable.chain(columns);
    let scale = model.scale.iter().flat_map(|scale| {
        let replicas = bounded(&scale.replicas, "is_replica_count");
        let current = bounded(&scale.current, "is_replica_count");
        [Some(replicas), Some(current), scale.selector.as_ref().map(|path| bounded(path, "is_selector"))]
    });
    let reset = model.write_rules.reset.iter().chain(&model.write_rules.reset_by_status).map(|path| {
        let access = access(path);
        quote_spanned!(path.span()=> let _ = #access;)
    });
    plain.chain(scale.flatten()).chain(reset).collect()
}

/// Accesses the value at a path, unwrapping every `Option`.
pub(super) fn access(path: &FieldPath) -> TokenStream {
    let mut value = quote!(object);
    for step in path.steps() {
        let field = quote_spanned!(step.span()=> &#value.#step);
        value = quote_spanned!(step.span()=> ::registry_core::expansion::field::Field(#field).get()?);
    }
    quote_spanned!(path.span()=> (|| ::core::option::Option::Some(#value))())
}

/// Checks the class of the type at a path.
fn classified(path: &FieldPath, check: &str) -> TokenStream {
    let access = access(path);
    let check = format_ident!("{check}", span = path.span());
    quote_spanned! {path.span()=> {
        let value = #access;
        ::registry_core::expansion::field::class::#check(
            value,
            (&::registry_core::expansion::field::class::Classified(value)).class(),
        );
    }}
}

const fn column_check(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::String => "is_string_column",
        ColumnKind::Integer => "is_integer_column",
        ColumnKind::Number => "is_number_column",
        ColumnKind::Boolean => "is_boolean_column",
        ColumnKind::Date => "is_date_column",
    }
}

fn bounded(path: &FieldPath, bound: &str) -> TokenStream {
    let access = access(path);
    let bound = format_ident!("{bound}", span = path.span());
    quote_spanned!(path.span()=> ::registry_core::expansion::field::#bound(#access);)
}

/// Checks that a typed strategy's object is this type.
fn strategy(model: &ResourceModel) -> TokenStream {
    let Some(strategy) = &model.strategy else { return TokenStream::new() };
    let object = object_type(model);
    let handles = quote_spanned! {strategy.span()=>
        ::registry_core::expansion::StrategyOf::<#strategy>::new().object()
    };
    quote!(let _: ::registry_core::expansion::Handles<#object> = #handles;)
}

/// Checks that the type is a subresource of this resource and implements every declared verb.
fn subresource(model: &ResourceModel, declared: &SubresourceAttribute) -> TokenStream {
    let ident = &model.ident;
    let storage = &declared.storage;
    let verbs = declared.verbs.iter().map(|(verb, _)| {
        let serves = format_ident!("serves_{}", verb.name());
        quote_spanned! {storage.span()=>
            ::registry_core::expansion::#serves::<
                <#storage as ::registry_core::registry::Subresource>::Storage
            >();
        }
    });
    let below = quote_spanned! {storage.span()=>
        ::registry_core::expansion::is_subresource_of::<#ident, #storage>();
    };
    quote!(#below #(#verbs)*)
}
