//! The schemas that a document refers to.

use registry_core::api::{GroupVersion, GroupVersionKind};
use registry_core::registry::InstalledPath;
use registry_core::schema::openapi::{Descriptions, components};
use registry_core::schema::{Schema, TypeTable};
use serde_json::{Map, Value, json};

use super::custom::{self, Target, is_custom};
use super::references::{group_version_kind, meta_name, name_of_kind, reference};

/// The schemas that every document refers to.
const SHARED: [&str; 8] = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "DeleteOptions",
    "Patch",
    "Status",
    "WatchEvent",
];

/// Returns the schemas of every kind these paths accept or return, with their lists and all types they use,
/// and the shared ones.
pub(super) fn version_schemas(
    version: GroupVersion,
    paths: &[&InstalledPath],
    descriptions: Option<&Descriptions>,
    target: Target,
) -> Map<String, Value> {
    let (custom, own): (Vec<&InstalledPath>, _) = paths.iter().partition(|path| is_custom(path));
    let mut schemas = if own.is_empty() { Map::new() } else { own_schemas(&own, descriptions) };
    if !custom.is_empty() {
        for (name, schema) in used_by_custom(&custom, descriptions) {
            schemas.entry(name).or_insert(schema);
        }
        schemas.extend(custom.iter().flat_map(|path| custom::components(path, target)));
    }
    keep_own_kinds(version, &mut schemas);
    schemas
}

/// Returns the types that the documents of custom kinds refer to.
pub(super) fn used_by_custom(
    paths: &[&InstalledPath],
    descriptions: Option<&Descriptions>,
) -> Map<String, Value> {
    let shared = custom::SHARED.iter().filter_map(|kind| TypeTable::meta().schema_named(&meta_name(kind)));
    let scale = paths.iter().find(|path| has_other_kind(path)).map(|path| path.capabilities.storage.schema());
    let roots: Vec<Schema> = shared.chain(scale).collect();
    let mut schemas = components(&roots.iter().collect::<Vec<_>>(), descriptions);
    keep_own_kinds(GroupVersion { group: "", version: "v1" }, &mut schemas);
    schemas
}

/// Returns the schemas of kinds that the server defines.
fn own_schemas(paths: &[&InstalledPath], descriptions: Option<&Descriptions>) -> Map<String, Value> {
    // Connections accept no objects: their options are parameters.
    let paths = || paths.iter().filter(|path| path.capabilities.connecter.is_none());
    // Types defined by the resource itself are described by it.
    let unknown = paths().filter(|path| known_schema(path).is_none());
    let kinds: Vec<Schema> = unknown.map(|path| path.capabilities.storage.schema()).collect();
    let lists = paths().filter_map(|path| {
        let lister = path.capabilities.lister.as_ref()?;
        let name = list_name(path, lister.list_kind());
        path.capabilities.storage.schema().table().schema_named(&name)
    });
    let shared = SHARED.iter().filter_map(|kind| TypeTable::meta().schema_named(&meta_name(kind)));
    let parts = paths().filter_map(|path| known_schema(path));
    let others: Vec<Schema> = lists.chain(shared).chain(parts).collect();
    let roots: Vec<&Schema> = kinds.iter().chain(&others).collect();
    let mut schemas = components(&roots, descriptions);
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

/// Restricts the kinds of shared types, which belong to every group, to the document's group and the core
/// group.
fn keep_own_kinds(version: GroupVersion, schemas: &mut Map<String, Value>) {
    let is_own = |kind: &Value| {
        let of = (kind["group"].as_str().unwrap_or_default(), kind["version"].as_str().unwrap_or_default());
        of == ("", "v1") || of == (version.group, version.version)
    };
    for (_, schema) in schemas.iter_mut().filter(|(name, _)| name.starts_with(&meta_name(""))) {
        if let Some(kinds) = schema.get_mut("x-kubernetes-group-version-kind").and_then(Value::as_array_mut) {
            kinds.retain(is_own);
        }
    }
}

/// Returns the name of the schema of what a path accepts and returns.
pub(super) fn name(path: &InstalledPath) -> String {
    let storage = &path.capabilities.storage;
    if is_custom(path) && !has_other_kind(path) {
        return name_of_kind(storage.kind());
    }
    let schema = known_schema(path).unwrap_or_else(|| storage.schema());
    schema.root().name().map_or_else(|| name_of_kind(storage.kind()), str::to_owned)
}

/// Returns the resource's own schema for what a path accepts: for all but scales of custom kinds.
fn known_schema(path: &InstalledPath) -> Option<Schema> {
    if is_custom(path) {
        return None;
    }
    path.resource.schema().table().schema(path.capabilities.storage.kind())
}

/// Whether a path accepts objects of another kind than its resource's: a `scale`.
fn has_other_kind(path: &InstalledPath) -> bool {
    path.capabilities.storage.kind() != path.resource.kind
}

/// Returns the name of the schema of a path's lists.
pub(super) fn list_name(path: &InstalledPath, list_kind: &str) -> String {
    let name = name(path);
    let package = name.rsplit_once('.').map_or("", |(package, _)| package);
    format!("{package}.{list_kind}")
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
