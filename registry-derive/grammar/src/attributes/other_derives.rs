//! Keywords of other derives, mainly kube-rs's `#[kube(…)]`: each is rejected with its equivalent.

use darling::ast::NestedMeta;
use syn::{Attribute, Meta};

/// Keywords that are not part of the grammar, with their error messages.
const OTHER_WORDS: &[(&[&str], &str)] = &[
    (&["namespaced"], "resources are namespaced unless they say `cluster`: leave this out"),
    (
        &["shortname", "shortnames", "short_name", "short_names"],
        "short names are written `short = \"…\"` or `short(\"…\", \"…\")`",
    ),
    (&["category"], "categories are written `categories(\"all\")`"),
    (
        &["printcolumn", "printer_column", "additional_printer_columns"],
        "columns are written `column(\"Heading\", spec.field, type = integer)`",
    ),
    (
        &["subresources"],
        "the status is marked at its field, `#[resource(status)]`; the others are `scale(…)` and \
         `subresource(Type, verbs(get))`",
    ),
    (
        &["rule", "validation"],
        "rules are written in Rust, in `validate` of the type that `strategy = Type` names, or in CEL: \
         `#[schemars(extend(\"x-kubernetes-validations\" = [{\"rule\": \"…\"}]))]` on the struct or field",
    ),
    (
        &[
            "apiextensions",
            "annotation",
            "annotations",
            "crates",
            "derive",
            "doc",
            "label",
            "labels",
            "root",
            "served",
            "struct",
        ],
        "this word of kube-rs's `#[kube(…)]` means nothing here: leave it out",
    ),
];

/// The error message for a status that names a type, as in kube-rs.
const STATUS_IS_A_FIELD: &str =
    "the status is a field of the struct: `#[resource(status)] pub status: Option<Type>`";

/// Returns an error for all keywords of other derives in the attributes, spanned at these keywords.
pub(crate) fn refuse(attributes: &[Attribute]) -> Option<syn::Error> {
    let own = attributes.iter().filter(|attribute| attribute.path().is_ident("resource"));
    let lists = own.filter_map(|attribute| attribute.meta.require_list().ok());
    // Syntax errors are reported by the grammar itself.
    let words = lists.filter_map(|list| NestedMeta::parse_meta_list(list.tokens.clone()).ok()).flatten();
    let complaints = words.filter_map(|word| match &word {
        NestedMeta::Meta(meta) => hint(meta).map(|text| syn::Error::new_spanned(meta, text)),
        _ => None,
    });
    complaints.reduce(|mut all, complaint| {
        all.combine(complaint);
        all
    })
}

fn hint(meta: &Meta) -> Option<&'static str> {
    let word = meta.path().get_ident()?.to_string();
    if word == "status" && matches!(meta, Meta::NameValue(_)) {
        return Some(STATUS_IS_A_FIELD);
    }
    OTHER_WORDS.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, text)| *text)
}
