//! Warnings about formats that the server does not check.

use std::collections::BTreeSet;

use registry_core::api::go_text::quote;

use super::schema::Schema;
use super::view::Spec;

/// Formats of texts, without dashes.
const TEXT_FORMATS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Maximum number of formats in the warnings about a definition.
const MAX_WARNINGS: usize = 100;

/// Returns a warning for each unknown format that the definition did not have before.
pub(super) fn warnings(new: &Spec<'_>, old: Option<&Spec<'_>>) -> Vec<String> {
    let before = old.map(unknown_formats).unwrap_or_default();
    let now = unknown_formats(new);
    let added = now.difference(&before).take(MAX_WARNINGS);
    added.map(|format| format!("unrecognized format {}", quote(format))).collect()
}

fn unknown_formats<'a>(spec: &Spec<'a>) -> BTreeSet<&'a str> {
    let mut unknown = BTreeSet::new();
    for schema in spec.schemas() {
        schema.for_each(&mut |schema| {
            if is_unknown(schema) {
                unknown.insert(schema.text("format"));
            }
        });
    }
    unknown
}

fn is_unknown(schema: Schema<'_>) -> bool {
    let format = schema.text("format");
    if format.is_empty() {
        return false;
    }
    match schema.kind() {
        "" | "string" => !TEXT_FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => !["int32", "int64"].contains(&format),
        "number" => !["float", "double"].contains(&format),
        _ => true,
    }
}
