//! Rules that ConfigMaps and Secrets share: keys, size, immutability.

use std::ops::Deref;

use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::NameRule;
use registry_core::api::validation::object_meta::validate_object_meta;
use registry_core::api::{FieldError, FieldPath, Object};
use resource_views::core::v1::ConfigMap;
use resource_views::{Map, Typed, View};

/// Maximum size of the data of an object, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Checks the keys of a map, which become file names.
pub(crate) fn check_keys<'v: 'p, 'p, T>(data: &'p Map<T>, errors: &mut ErrorList)
where
    T: Typed<'v, 'p> + Deref<Target = View<'v, 'p>>,
{
    for (key, field) in data.entries() {
        for complaint in key_complaints(key) {
            errors.push(FieldError::invalid(field.path(), key, complaint));
        }
    }
}

/// Returns what is wrong with a key.
pub(crate) fn key_complaints(key: &str) -> Vec<String> {
    const MAX_CHARACTERS: usize = 253;
    let mut complaints = Vec::new();
    if key.len() > MAX_CHARACTERS {
        complaints.push(format!("must be no more than {MAX_CHARACTERS} characters"));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || !key.chars().all(allowed) {
        complaints.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match key {
        "." | ".." => complaints.push(format!("must not be '{key}'")),
        _ if key.starts_with("..") => complaints.push("must not start with '..'".to_owned()),
        _ => {}
    }
    complaints
}

/// Returns the number of bytes that a base64 text encodes.
pub(crate) fn decoded_length(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// Checks that an immutable ConfigMap or Secret stays immutable, with the same data: both have the field.
pub(crate) fn check_immutable(new: &Object, old: &Object, data: &[&str], errors: &mut ErrorList) {
    let is_immutable = |object: &Object| ConfigMap(object).immutable().is_true();
    if !is_immutable(old) {
        return;
    }
    let forbid = |field: &str| {
        FieldError::forbidden(FieldPath::new(field), "field is immutable when `immutable` is set")
    };
    if !is_immutable(new) {
        errors.push(forbid("immutable"));
    }
    for field in data {
        if new.0.get(*field) != old.0.get(*field) {
            errors.push(forbid(field));
        }
    }
}

/// Returns the metadata errors of an update again: for these kinds Kubernetes also validates the changed object as a
/// new one.
pub(super) fn repeated_metadata_errors(new: &Object) -> ErrorList {
    validate_object_meta(new, true, NameRule::DnsSubdomain, &FieldPath::new("metadata"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_of_files() {
        for key in ["a", "A_b-c.d", "...x"] {
            let complaints = key_complaints(key);
            assert_eq!(complaints.is_empty(), key != "...x", "{key}: {complaints:?}");
        }
        for key in ["", ".", "..", "a/b", "..x", &"a".repeat(254)] {
            assert!(!key_complaints(key).is_empty(), "{key}");
        }
    }
}
