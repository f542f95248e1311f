//! From the model to tokens.

mod checks;
mod kube;
mod resource_type;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use registry_grammar::{ObjectKind, ResourceModel};
use syn::DeriveInput;

/// The whole expansion, or the errors and nothing else.
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
    quote! {
        const _: () = {
            #kind
            #resource
            #kube
            #checks
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

/// The Rust type of one object.
fn object_type(model: &ResourceModel) -> TokenStream {
    match &model.object {
        ObjectKind::Own(_) => model.ident.to_token_stream(),
        ObjectKind::Foreign(path) => path.to_token_stream(),
    }
}

#[cfg(test)]
mod tests;
