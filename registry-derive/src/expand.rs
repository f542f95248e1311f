//! Generates tokens from the model.

mod checks;
mod conversion;
mod fragments;
mod kube;
mod map;
mod resource_type;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use registry_grammar::ResourceModel;
use syn::DeriveInput;
use syn::spanned::Spanned;

/// Returns the complete expansion, or only the errors.
pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    match ResourceModel::parse(input) {
        Ok(model) => emit(&model),
        Err(errors) => errors.into_compile_error(),
    }
}

fn emit(model: &ResourceModel) -> TokenStream {
    let kind = kind_constant(model);
    let resource = resource_type::emit(model);
    let kube = kube::emit(model);
    let checks = checks::emit(model);
    let storage = virtual_storage(model);
    let conversion = conversion::emit(model);
    let in_map = map::emit(model);
    quote! {
        const _: () = {
            #kind
            #resource
            #kube
            #checks
            #storage
            #conversion
            #in_map
        };
    }
}

fn kind_constant(model: &ResourceModel) -> TokenStream {
    let ResourceModel { group, version, kind, .. } = model;
    quote! {
        const RESOURCE_KIND: ::registry_core::api::GroupVersionKind =
            ::registry_core::api::GroupVersionKind { group: #group, version: #version, kind: #kind };
    }
}

/// Generates the storage of a resource that is not persisted.
fn virtual_storage(model: &ResourceModel) -> TokenStream {
    let (ident, Some(storage)) = (&model.ident, &model.storage) else { return TokenStream::new() };
    let install = quote_spanned! {storage.span()=>
        <#storage as ::registry_core::registry::VirtualStorage>::install
    };
    quote! {
        #[automatically_derived]
        impl ::registry_core::registry::VirtualResource for #ident {
            fn install(
                resource: &::std::sync::Arc<::registry_core::ResourceType>,
                services: &::registry_core::registry::Services,
            ) -> ::registry_core::rest::Capabilities {
                #install(resource, services)
            }
        }
    }
}

#[cfg(test)]
mod tests;
