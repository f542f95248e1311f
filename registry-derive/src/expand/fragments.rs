//! Fragments shared by several emitters.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use registry_grammar::{FieldPath, ObjectKind, ResourceModel};

/// The Rust type of an object.
pub(super) fn object_type(model: &ResourceModel) -> TokenStream {
    match &model.object {
        ObjectKind::Own(_) => model.ident.to_token_stream(),
        ObjectKind::Foreign(path) => path.to_token_stream(),
    }
}

/// A path in the JSON object.
pub(super) fn json_path(path: &FieldPath) -> TokenStream {
    let steps = path.json();
    quote!(&[#(#steps),*])
}

/// An optional value.
pub(super) fn optional(value: Option<TokenStream>) -> TokenStream {
    if let Some(value) = value {
        quote!(::core::option::Option::Some(#value))
    } else {
        quote!(::core::option::Option::None)
    }
}
