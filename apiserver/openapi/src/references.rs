//! The names of schemas and kinds, as documents refer to them.

use registry_core::api::GroupVersionKind;
use serde_json::{Value, json};

/// Returns the name of a kind's schema without a name of its own: by the reversed group.
pub(super) fn name_of_kind(kind: GroupVersionKind) -> String {
    let package: Vec<&str> = kind.group.rsplit('.').filter(|label| !label.is_empty()).collect();
    [package.join("."), kind.version.to_owned(), kind.kind.to_owned()].join(".").trim_matches('.').to_owned()
}

/// Returns the name of a schema of `meta.k8s.io/v1`.
pub(super) fn meta_name(kind: &str) -> String {
    format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}")
}

/// Returns a kind as the `x-kubernetes-group-version-kind` extension has it.
pub(super) fn group_version_kind(kind: GroupVersionKind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

/// Returns a reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
