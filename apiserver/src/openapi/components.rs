//! The schemas a document refers to.

use registry_core::api::GroupVersionKind;
use registry_core::registry::InstalledPath;
use serde_json::{Map, Value, json};

use crate::discovery::is_builtin_group;

/// The schemas of every kind these paths take or give, with their lists, and those all documents share.
pub(super) fn of_version(paths: &[&InstalledPath]) -> Map<String, Value> {
    let mut schemas = shared();
    for path in paths {
        let kind = path.capabilities.storage.kind();
        schemas.entry(name(kind)).or_insert_with(
            || json!({ "type": "object", "x-kubernetes-group-version-kind": [group_version_kind(kind)] }),
        );
        if let Some(lister) = &path.capabilities.lister {
            let list = GroupVersionKind { kind: lister.list_kind(), ..kind };
            schemas.entry(name(list)).or_insert_with(|| list_schema(kind, list));
        }
    }
    schemas
}

/// The name of a kind's schema: Kubernetes' own by their Go packages, all others by their group reversed.
pub(super) fn name(kind: GroupVersionKind) -> String {
    let GroupVersionKind { group, version, kind } = kind;
    let package = match group {
        "" => "io.k8s.api.core".to_owned(),
        "apiextensions.k8s.io" => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions".to_owned(),
        "apiregistration.k8s.io" => "io.k8s.kube-aggregator.pkg.apis.apiregistration".to_owned(),
        own if is_builtin_group(own) => {
            format!("io.k8s.api.{}", own.split('.').next().unwrap_or_default())
        }
        other => other.rsplit('.').collect::<Vec<_>>().join("."),
    };
    format!("{package}.{version}.{kind}")
}

/// The name of a schema of `meta.k8s.io/v1`.
pub(super) fn meta_name(kind: &str) -> String {
    format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}")
}

/// A kind as the `x-kubernetes-group-version-kind` extension has it.
pub(super) fn group_version_kind(kind: GroupVersionKind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

/// A reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn list_schema(kind: GroupVersionKind, list: GroupVersionKind) -> Value {
    json!({
        "description": format!("{} is a list of {}", list.kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "default": {}, "allOf": [reference(&meta_name("ListMeta"))] },
            "items": { "type": "array", "items": { "default": {}, "allOf": [reference(&name(kind))] } },
        },
        "x-kubernetes-group-version-kind": [group_version_kind(list)],
    })
}

/// What every document refers to.
fn shared() -> Map<String, Value> {
    let text = || json!({ "type": "string" });
    let schemas = [
        (
            "ListMeta",
            json!({
                "type": "object",
                "properties": {
                    "continue": text(), "resourceVersion": text(), "selfLink": text(),
                    "remainingItemCount": { "type": "integer", "format": "int64" },
                },
            }),
        ),
        ("Patch", json!({ "type": "object" })),
        (
            "Preconditions",
            json!({ "type": "object", "properties": { "uid": text(), "resourceVersion": text() } }),
        ),
        (
            "DeleteOptions",
            json!({
                "type": "object",
                "properties": {
                    "apiVersion": text(), "kind": text(), "propagationPolicy": text(),
                    "dryRun": { "type": "array", "items": text() },
                    "gracePeriodSeconds": { "type": "integer", "format": "int64" },
                    "orphanDependents": { "type": "boolean" },
                    "ignoreStoreReadErrorWithClusterBreakingPotential": { "type": "boolean" },
                    "preconditions": reference(&meta_name("Preconditions")),
                },
            }),
        ),
        (
            "Status",
            json!({
                "type": "object",
                "properties": {
                    "apiVersion": text(), "kind": text(), "message": text(), "reason": text(), "status": text(),
                    "code": { "type": "integer", "format": "int32" },
                    "details": { "type": "object" },
                    "metadata": { "default": {}, "allOf": [reference(&meta_name("ListMeta"))] },
                },
                "x-kubernetes-group-version-kind": [{ "group": "", "version": "v1", "kind": "Status" }],
            }),
        ),
    ];
    schemas.into_iter().map(|(kind, schema)| (meta_name(kind), schema)).collect()
}
