//! Checks of an annotated struct that is the object itself: its kind, its fields, and their JSON names.

use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, LitStr, Type};

use super::names;
use super::validate::Complaints;
use crate::attributes::{Attributes, FieldAttributes};

// === impl Complaints ===

impl Complaints {
    /// Checks that the struct's name is a valid kind, unless a kind is specified; that one is checked with the other
    /// names.
    pub(super) fn check_kind(&mut self, attributes: &Attributes, kind: &str) {
        if attributes.kind.is_none() && !names::is_kind(kind) {
            let message = format!(
                "`{kind}` is not a kind: name the struct in CamelCase, or give the kind, `kind = \"Enclosure\"`"
            );
            self.add(attributes.ident.span(), message);
        }
    }

    /// Checks that short names differ from the resource's other names.
    pub(super) fn check_short_names(&mut self, short: &[LitStr], plural: &str, singular: &str) {
        for name in short {
            let text = name.value();
            self.require(
                text != plural && text != singular,
                name.span(),
                format!("`{text}` is the resource's own name already: leave this short name out"),
            );
        }
    }

    /// Checks the fields of the struct.
    pub(super) fn check_own_fields(&mut self, attributes: &Attributes) {
        let fields = attributes.data.as_ref().take_struct().map(|fields| fields.fields).unwrap_or_default();
        for field in &fields {
            let Some(ident) = &field.ident else { continue };
            let name = ident.unraw().to_string();
            if field.status.is_present() {
                self.require(
                    name == "status",
                    field.status.span(),
                    "the field of the status is called `status`",
                );
                self.require(
                    is_option(&field.ty),
                    field.ty.span(),
                    "a new object has no status yet: write `Option<…>`",
                );
            } else if name == "status" && attributes.storage.is_none() {
                self.add(
                    ident.span(),
                    "mark the status, `#[resource(status)]`, so that its subresource alone writes it",
                );
            }
            if matches!(name.as_str(), "api_version" | "apiVersion" | "kind") {
                self.add(
                    ident.span(),
                    "`apiVersion` and `kind` come from the annotation: leave this field out",
                );
            } else if name.trim_matches('_').contains('_') && !is_renamed(&attributes.attrs, field) {
                self.add(
                    ident.span(),
                    format!(
                        "`{name}` would be `{name}` in JSON, where Kubernetes writes camelCase: add \
                         `#[serde(rename_all = \"camelCase\")]` to the struct"
                    ),
                );
            }
        }
        if attributes.status.is_present() && attributes.object.is_none() {
            self.add(
                attributes.status.span(),
                "on your own struct mark the field instead: `#[resource(status)] pub status: Option<…>`",
            );
        }
    }
}

/// Whether serde attributes determine the field's JSON name: renamed, flattened, or in camelCase.
fn is_renamed(on_struct: &[Attribute], field: &FieldAttributes) -> bool {
    let by_field = serde_words(&field.attrs)
        .iter()
        .any(|(word, _)| matches!(word.as_str(), "rename" | "flatten" | "skip" | "skip_serializing"));
    let by_struct = serde_words(on_struct).iter().any(|(word, value)| {
        word == "rename_all" && value.as_deref().is_none_or(|value| value == "camelCase")
    });
    by_field || by_struct
}

/// Returns the words of `#[serde(…)]`, with their string values if present.
fn serde_words(attributes: &[Attribute]) -> Vec<(String, Option<String>)> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // Syntax errors are reported by serde.
        let _ = attribute.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let mut text = None;
            if meta.input.peek(syn::Token![=]) {
                text = meta.value()?.parse::<LitStr>().ok().map(|text| text.value());
            } else if meta.input.peek(syn::token::Paren) {
                meta.parse_nested_meta(|inner| {
                    if inner.input.peek(syn::Token![=]) {
                        inner.value()?.parse::<syn::Expr>()?;
                    }
                    Ok(())
                })?;
            }
            words.push((word, text));
            Ok(())
        });
    }
    words
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}
