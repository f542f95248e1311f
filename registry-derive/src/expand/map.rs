//! Checks that the crate's storage map contains the struct. Otherwise a struct that code generation has not processed
//! would silently not be served.

use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote_spanned;
use registry_grammar::ResourceModel;

/// Path of the generated storage map in a crate.
const MAP: &str = "src/generated/storage_map.rs";

/// Generates a compile error if the crate has a generated storage map without one of this struct's paths. Tests are
/// excluded because they are not served.
pub(super) fn emit(model: &ResourceModel) -> TokenStream {
    let Some(folder) = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else {
        return TokenStream::new();
    };
    if !is_below(&model.ident, &folder.join("src")) {
        return TokenStream::new();
    }
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let map = std::fs::read_to_string(folder.join(MAP)).ok();
    let Some(missing) = missing(model, map.as_deref(), &manifest) else { return TokenStream::new() };
    let message = format!(
        "the storage map ({MAP}) has no `{missing}`, so this would not be served: run `cargo xtask codegen`"
    );
    quote_spanned! {model.ident.span()=>
        #[cfg(not(test))]
        ::core::compile_error!(#message);
    }
}

/// Returns the first entry of the struct that the map does not have. A crate without a generated map declares its own,
/// unless its manifest requests a generated one.
fn missing(model: &ResourceModel, map: Option<&str>, manifest: &str) -> Option<String> {
    if map.is_none() && !manifest.contains("[package.metadata.orlop]") {
        return None;
    }
    let main = if model.storage.is_some() { "Virtual" } else { "Main" };
    let paths = [(true, main), (model.has_status, "Status"), (model.scale.is_some(), "Scale")];
    let has = |marker: &str| map.is_some_and(|map| has_path(map, marker, &model.ident.to_string()));
    let own = paths.into_iter().find(|(declared, marker)| *declared && !has(marker));
    if let Some((_, marker)) = own {
        return Some(format!("{marker}<…::{}>", model.ident));
    }
    let mut subresources = model.subresources.iter().filter_map(|declared| declared.storage.segments.last());
    let missing = subresources.find(|storage| {
        let name = storage.ident.to_string();
        !map.is_some_and(|map| has_path(map, "Custom", &name))
    });
    missing.map(|storage| format!("Custom<…::{}>", storage.ident))
}

/// Whether the text contains `Marker<crate::module::Name>`.
fn has_path(map: &str, marker: &str, name: &str) -> bool {
    let start = format!("{marker}<");
    let mut types = map.split(&start).skip(1).filter_map(|rest| rest.split('>').next());
    types.any(|path| path.rsplit("::").next().is_some_and(|last| last.trim().trim_end_matches(',') == name))
}

/// Whether the struct is in a file below this directory; those of integration tests and examples are not.
fn is_below(ident: &syn::Ident, folder: &Path) -> bool {
    // Outside of the compiler, in this crate's tests, a span has no file.
    let file = proc_macro::is_available().then(|| ident.span().unwrap().local_file()).flatten();
    file.and_then(|file| std::path::absolute(file).ok()).is_some_and(|file| file.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    const MAP_TEXT: &str = r#"
        "enclosures" => Main<crate::zoo::Enclosure>,
        "enclosures/status" => Status<crate::zoo::Enclosure>,
        "enclosures/feeding" => Custom<crate::zoo::feeding::Feeding>,
        "tickets" => Virtual<crate::zoo::Ticket>,
    "#;

    fn model(input: &syn::DeriveInput) -> ResourceModel {
        ResourceModel::parse(input).expect("a good annotation")
    }

    #[test]
    fn paths_the_map_does_not_have_are_found() {
        let plain = model(&parse_quote! {
            #[resource(group = "zoo.example.dev", version = "v1")]
            pub struct Enclosure { pub metadata: ObjectMeta }
        });
        let scaled = model(&parse_quote! {
            #[resource(group = "zoo.example.dev", version = "v1", scale(replicas = spec.a, current = spec.b))]
            pub struct Enclosure { pub metadata: ObjectMeta }
        });
        let other = model(&parse_quote! {
            #[resource(group = "zoo.example.dev", version = "v1")]
            pub struct Closure { pub metadata: ObjectMeta }
        });
        let ticket = model(&parse_quote! {
            #[resource(group = "zoo.example.dev", version = "v1", storage = Tickets)]
            pub struct Ticket { pub metadata: ObjectMeta }
        });
        let with_subresources = model(&parse_quote! {
            #[resource(
                group = "zoo.example.dev",
                version = "v1",
                subresource(feeding::Feeding, verbs(create)),
                subresource(Cleaning, verbs(create)),
            )]
            pub struct Enclosure { pub metadata: ObjectMeta }
        });
        assert_eq!(missing(&plain, Some(MAP_TEXT), ""), None);
        assert_eq!(missing(&scaled, Some(MAP_TEXT), "").as_deref(), Some("Scale<…::Enclosure>"));
        assert_eq!(missing(&with_subresources, Some(MAP_TEXT), "").as_deref(), Some("Custom<…::Cleaning>"));
        let closure = missing(&other, Some(MAP_TEXT), "");
        assert_eq!(closure.as_deref(), Some("Main<…::Closure>"), "the end of another name");
        assert_eq!(missing(&ticket, Some(MAP_TEXT), ""), None);
        assert_eq!(missing(&plain, None, ""), None, "the crate writes its map by hand");
        let wanted = missing(&plain, None, "[package.metadata.orlop]\nresources = true");
        assert_eq!(wanted.as_deref(), Some("Main<…::Enclosure>"));
    }
}
