//! `hub = …`: conversion of a version to the stored one and back.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use registry_grammar::{FieldPath, ObjectKind, ResourceModel};
use syn::spanned::Spanned;

use super::fragments::{json_path, object_type, optional};

/// Generates the `hub` field of the resource's constant.
pub(super) fn constant(model: &ResourceModel) -> TokenStream {
    let ident = &model.ident;
    optional(model.hub.as_ref().map(|hub| {
        let here = hub.span();
        let hub_fields = model.selectable.iter().map(|field| {
            let path = json_path(field.hub().unwrap_or(field));
            quote_spanned! {field.span()=>
                <#hub as ::registry_core::Resource>::TYPE.selectable_at(#path)
            }
        });
        let spoke = quote_spanned!(here=> <#ident as ::registry_core::resource::conversion::Spoke>);
        quote! {
            &::registry_core::resource::ConversionDescription {
                hub: <#hub as ::registry_core::Resource>::TYPE,
                to_hub: #spoke::to_hub,
                from_hub: #spoke::from_hub,
                hub_fields: &[#(#hub_fields),*],
            }
        }
    }))
}

/// Generates the conversion of a custom struct from its `TryFrom`s, and the compile-time checks of any conversion.
pub(super) fn emit(model: &ResourceModel) -> TokenStream {
    let Some(hub) = &model.hub else { return TokenStream::new() };
    let ident = &model.ident;
    let spoke = match &model.object {
        _ if model.same_fields => unconverted(model, hub),
        ObjectKind::Own(_) => own(model, hub),
        ObjectKind::Foreign(_) => TokenStream::new(),
    };
    let checks = checks(model, hub);
    let fits = quote_spanned!(hub.span()=>
        <#ident as ::registry_core::Resource>::TYPE.check_conversion()
    );
    quote! {
        #spoke
        #checks
        const _: () = #fits;
    }
}

fn own(model: &ResourceModel, hub: &syn::Path) -> TokenStream {
    let ident = &model.ident;
    let object = object_type(model);
    let hub_object = quote_spanned!(hub.span()=> <#hub as ::registry_core::Resource>::Object);
    // Spanned at the struct, because that is where an `impl` is missing.
    let to_hub = quote_spanned!(ident.span()=> ::registry_core::expansion::converted::<#object, #hub_object>);
    let from_hub =
        quote_spanned!(ident.span()=> ::registry_core::expansion::converted::<#hub_object, #object>);
    spoke(model, hub, &quote!(#to_hub(&object)), &quote!(#from_hub(&object)))
}

/// Generates the conversion of a version that has the fields of its hub.
fn unconverted(model: &ResourceModel, hub: &syn::Path) -> TokenStream {
    let object = quote!(::core::result::Result::Ok(object));
    spoke(model, hub, &object, &object)
}

fn spoke(
    model: &ResourceModel,
    hub: &syn::Path,
    to_hub: &TokenStream,
    from_hub: &TokenStream,
) -> TokenStream {
    let ident = &model.ident;
    let error = quote!(::registry_core::resource::conversion::ConversionError);
    let object = quote!(::registry_core::api::Object);
    quote! {
        #[automatically_derived]
        impl ::registry_core::resource::conversion::Spoke for #ident {
            type Hub = #hub;

            fn to_hub(object: #object) -> ::core::result::Result<#object, #error> {
                #to_hub
            }

            fn from_hub(object: #object) -> ::core::result::Result<#object, #error> {
                #from_hub
            }
        }
    }
}

/// Never called: checks that the hub matches the `impl`, and that the hub has the fields named after `=>`.
fn checks(model: &ResourceModel, hub: &syn::Path) -> TokenStream {
    let ident = &model.ident;
    let is_spoke = quote_spanned!(hub.span()=> ::registry_core::expansion::is_spoke_of::<#ident, #hub>(););
    let fields: Vec<TokenStream> = model.selectable.iter().filter_map(FieldPath::hub).map(field).collect();
    let hub_object = quote_spanned!(hub.span()=> <#hub as ::registry_core::Resource>::Object);
    quote! {
        #[allow(dead_code, clippy::all, clippy::pedantic, reason = "compiled, never called")]
        fn checks_of_hub(object: &#hub_object) {
            use ::registry_core::expansion::field::Present as _;
            #is_spoke
            #(#fields)*
        }
    }
}

fn field(path: &FieldPath) -> TokenStream {
    let access = super::checks::access(path);
    quote!(let _ = #access;)
}
