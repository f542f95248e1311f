//! Words of other derives, `#[kube(…)]` of kube-rs above all: each is refused with what to write instead.

use darling::ast::NestedMeta;
use syn::{Attribute, Meta};

/// Words that are not part of the grammar, and what to say of them.
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
        "rules are written in Rust, in `validate` of the type that `strategy = Type` names",
    ),
    (
        &[
            "apiextensions",
            "annotation",
            "annotations",
            "crates",
            "deprecated",
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

/// What to say of a status that is named like a type, as kube-rs has it.
const STATUS_IS_A_FIELD: &str =
    "the status is a field of the struct: `#[resource(status)] pub status: Option<Type>`";

/// Every word of other derives in the attributes, as one error at those words.
pub(crate) fn refuse(attributes: &[Attribute]) -> Option<syn::Error> {
    let own = attributes.iter().filter(|attribute| attribute.path().is_ident("resource"));
    let lists = own.filter_map(|attribute| attribute.meta.require_list().ok());
    // What cannot be parsed here, the grammar itself complains of.
    let words = lists.filter_map(|list| NestedMeta::parse_meta_list(list.tokens.clone()).ok()).flatten();
    let complaints = words.filter_map(|word| match &word {
        NestedMeta::Meta(meta) => hint(meta).map(|text| syn::Error::new_spanned(meta, text)),
        _ => None,
    });
    complaints.reduce(|mut all, one| {
        all.combine(one);
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
