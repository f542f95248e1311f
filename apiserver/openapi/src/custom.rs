//! The schemas of custom kinds: those of their definitions, with the fields that all objects have.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `schema` | the schema of a definition as OpenAPI publishes it |
//! | `validations` | the restrictions of values |
//! | `structural` | the schemas that have a structural form, and the fields that describe a value |
//! | `extensions` | the extensions `x-kubernetes-…` |
//!
//! Kubernetes concept: `k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder`.

use registry_core::api::GroupVersionKind;
use registry_core::registry::InstalledPath;
use registry_core::resource::{Published, ResourceType};
use ring::digest::{Context, Digest, SHA256};
use serde_json::{Map, Value, json};

use super::references::{group_version_kind, meta_name, name_of_kind, reference};

mod extensions;
mod schema;
mod structural;
#[cfg(test)]
mod tests;
mod validations;

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// The types of `meta.k8s.io/v1` that the documents of custom kinds refer to.
pub(super) const SHARED: [&str; 4] = ["DeleteOptions", "ObjectMeta", "Patch", "Status"];

/// The version of OpenAPI that a schema is for. Schemas have the form of v3 in any case: those for v2 contain only what
/// v2 supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The complete schema.
    V3,
    /// Without what v2 does not support, and without what kubectl does not accept in documents of v2.
    V2,
}

/// Returns whether this is a path of a custom kind.
pub(super) fn is_custom(path: &InstalledPath) -> bool {
    path.resource.schema.is_custom()
}

/// Returns the names and schemas of a custom kind and its list; nothing for paths of subresources.
pub(super) fn components(path: &InstalledPath, target: Target) -> Vec<(String, Value)> {
    let resource = &*path.resource;
    let (Some(published), None) = (resource.schema.published(), path.subresource) else { return Vec::new() };
    let mut kind = kind_schema(published, target);
    let mut list = list_schema(resource);
    let of_resource = || resource.selectable.iter().map(|field| field.name).collect();
    let selectable: Vec<&str> = published.selectable().map_or_else(of_resource, <[_]>::to_vec);
    let extend = |schema: &mut Map<String, Value>, kind| {
        schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([group_version_kind(kind)]));
        if !selectable.is_empty() {
            let fields = selectable.iter().map(|name| json!({ "fieldPath": name }));
            schema.insert("x-kubernetes-selectable-fields".to_owned(), fields.collect());
        }
    };
    let list_kind = GroupVersionKind { kind: resource.list_kind, ..resource.kind };
    extend(&mut kind, resource.kind);
    extend(&mut list, list_kind);
    vec![(name_of_kind(resource.kind), kind.into()), (name_of_kind(list_kind), list.into())]
}

/// Returns what identifies the document with these paths, without reading the schemas; `None` if they do not all belong
/// to custom kinds with a fingerprint.
pub(super) fn identity(paths: &[&InstalledPath]) -> Option<Digest> {
    let mut digest = Context::new(&SHA256);
    let mut add = |part: &str| {
        digest.update(&part.len().to_be_bytes());
        digest.update(part.as_bytes());
    };
    // Another version of the server may publish another document of the same definition.
    add(env!("CARGO_PKG_VERSION"));
    for path in paths {
        let resource = &*path.resource;
        add(resource.schema.published()?.fingerprint()?);
        let kind = resource.kind;
        let names = [kind.group, kind.version, kind.kind, resource.list_kind, resource.plural];
        names.into_iter().for_each(&mut add);
        add(path.subresource.unwrap_or_default());
        add(&path.capabilities.verbs().join(","));
    }
    (!paths.is_empty()).then(|| digest.finish())
}

/// Returns the schema of objects; a kind without a schema has no properties.
fn kind_schema(published: &Published, target: Target) -> Map<String, Value> {
    let untyped = || Map::from_iter([("type".to_owned(), "object".into())]);
    let schema = published.schema().and_then(|schema| schema::published(schema, target));
    // kubectl takes the properties in documents of v2 for the only ones that are allowed.
    let is_complete = |schema: &Map<String, Value>| {
        target == Target::V3 || !schema.contains_key(extensions::PRESERVE_UNKNOWN_FIELDS)
    };
    let Some(mut schema) = schema.filter(is_complete) else { return untyped() };
    schema::set_property(&mut schema, "apiVersion", text(API_VERSION));
    schema::set_property(&mut schema, "kind", text(KIND));
    schema::set_property(&mut schema, "metadata", described("ObjectMeta", METADATA));
    schema::add_embedded(&mut schema, target);
    schema
}

fn list_schema(resource: &ResourceType) -> Map<String, Value> {
    let items = format!(
        "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
        resource.plural
    );
    let schema = json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text(API_VERSION),
            "kind": text(KIND),
            "metadata": described("ListMeta", LIST_METADATA),
            "items": { "description": items, "type": "array", "items": reference(&name_of_kind(resource.kind)) },
        },
    });
    if let Value::Object(schema) = schema { schema } else { Map::new() }
}

/// Returns the schema of a text.
fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

/// Returns a reference to a type of `meta.k8s.io/v1` with a description.
fn described(kind: &str, description: &str) -> Value {
    json!({ "description": description, "allOf": [reference(&meta_name(kind))] })
}
