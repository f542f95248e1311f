//! `k8s_openapi::Resource` and `Metadata` for a custom struct, so that it can be used with kube-rs's `Api<T>`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use registry_grammar::{ObjectKind, ResourceModel, ResourceScope};
use syn::spanned::Spanned;

pub(super) fn emit(model: &ResourceModel) -> TokenStream {
    let ObjectKind::Own(own) = &model.object else {
        // A foreign type's own crate implements them.
        return TokenStream::new();
    };
    let ResourceModel { ident, group, version, kind, plural, .. } = model;
    let api_version = model.api_version();
    let list_kind = model.list_kind();
    let scope = match model.scope {
        ResourceScope::Namespaced => quote!(NamespaceResourceScope),
        ResourceScope::Cluster => quote!(ClusterResourceScope),
    };
    let k8s_openapi = quote!(::registry_core::expansion::k8s_openapi);
    let object_meta = quote!(#k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta);
    // Spanned at the field's type, which is wrong if it is not `ObjectMeta`.
    let shared = quote_spanned!(own.metadata.span()=> &self.metadata);
    let exclusive = quote_spanned!(own.metadata.span()=> &mut self.metadata);
    quote! {
        #[automatically_derived]
        impl #k8s_openapi::Resource for #ident {
            const API_VERSION: &'static str = #api_version;
            const GROUP: &'static str = #group;
            const KIND: &'static str = #kind;
            const VERSION: &'static str = #version;
            const URL_PATH_SEGMENT: &'static str = #plural;
            type Scope = #k8s_openapi::#scope;
        }

        #[automatically_derived]
        impl #k8s_openapi::ListableResource for #ident {
            const LIST_KIND: &'static str = #list_kind;
        }

        #[automatically_derived]
        impl #k8s_openapi::Metadata for #ident {
            type Ty = #object_meta;

            fn metadata(&self) -> &#object_meta {
                #shared
            }

            fn metadata_mut(&mut self) -> &mut #object_meta {
                #exclusive
            }
        }
    }
}
