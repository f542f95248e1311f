//! The schemas a document refers to.

use registry_core::api::GroupVersionKind;
use registry_core::registry::InstalledPath;
use registry_core::schema::Schema;
use registry_core::schema::openapi::{Descriptions, components};
use serde_json::{Map, Value, json};

/// The schemas of every kind these paths take or give, with their lists and all types they use, and those all
/// documents share.
pub(super) fn of_version(
    paths: &[&InstalledPath],
    descriptions: Option<&Descriptions>,
) -> Map<String, Value> {
    // Connections take no objects: their options are parameters.
    let paths = || paths.iter().filter(|path| path.capabilities.connecter.is_none());
    let roots: Vec<&Schema> = paths().map(|path| path.capabilities.storage.schema()).collect();
    let mut schemas = components(&roots, descriptions);
    for (shared, schema) in shared() {
        schemas.entry(shared).or_insert(schema);
    }
    for path in paths() {
        let kind = path.capabilities.storage.kind();
        schemas.entry(name(path)).or_insert_with(
            || json!({ "type": "object", "x-kubernetes-group-version-kind": [group_version_kind(kind)] }),
        );
        if let Some(lister) = &path.capabilities.lister {
            let list = GroupVersionKind { kind: lister.list_kind(), ..kind };
            schemas.entry(list_name(path, list.kind)).or_insert_with(|| list_schema(path, list));
        }
    }
    schemas
}

/// The name of the schema of what a path takes and gives.
pub(super) fn name(path: &InstalledPath) -> String {
    let storage = &path.capabilities.storage;
    storage.schema().root().name().map_or_else(|| name_of_kind(storage.kind()), str::to_owned)
}

/// The name of the schema of a path's lists.
pub(super) fn list_name(path: &InstalledPath, list_kind: &str) -> String {
    let name = name(path);
    let package = name.rsplit_once('.').map_or("", |(package, _)| package);
    format!("{package}.{list_kind}")
}

/// A kind's schema that has no name of its own is named by the group, reversed.
fn name_of_kind(kind: GroupVersionKind) -> String {
    let package: Vec<&str> = kind.group.rsplit('.').filter(|label| !label.is_empty()).collect();
    [package.join("."), kind.version.to_owned(), kind.kind.to_owned()].join(".").trim_matches('.').to_owned()
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

fn list_schema(path: &InstalledPath, list: GroupVersionKind) -> Value {
    json!({
        "description": format!("{} is a list of {}", list.kind, path.capabilities.storage.kind().kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "default": {}, "allOf": [reference(&meta_name("ListMeta"))] },
            "items": { "type": "array", "items": { "default": {}, "allOf": [reference(&name(path))] } },
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
