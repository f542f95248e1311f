//! One operation of a path.

use registry_core::api::{GroupVersion, GroupVersionKind, Scope};
use registry_core::registry::InstalledPath;
use serde_json::{Map, Value, json};

use registry_core::json_fields::put;

use super::actions::{Action, PathScope};
use super::components::{list_name, name};
use super::custom::is_custom;
use super::names::{capitalized, group_id, operation_id, tag, version_tag};
use super::references::{group_version_kind, meta_name, reference};

/// The media types of objects.
pub(super) const OBJECT_TYPES: [&str; 3] =
    ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
/// The media types of custom objects.
pub(super) const CUSTOM_TYPES: [&str; 2] = ["application/json", "application/yaml"];
/// The media types of watches.
const STREAM_TYPES: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

/// Returns an operation, with what clients need for validation, apply and explain.
pub(super) fn operation(path: &InstalledPath, place: PathScope, action: Action) -> Value {
    let kind = shown_kind(path);
    let parameters = queries(path, action);
    let part = path.subresource.map(|name| format!("{name} of ")).unwrap_or_default();
    let mut description = action.description(path.resource.kind.kind, &part);
    if is_custom(path) || path.capabilities.watcher.is_none() {
        description = description.replacen("list or watch", "list", 1);
    }
    let mut operation = json!({
        "description": description,
        "operationId": operation_id(path, place, action),
        "tags": [tag(path)],
        "responses": responses(path, action),
        "x-kubernetes-action": action.kubernetes_action(),
        "x-kubernetes-group-version-kind": group_version_kind(kind),
    });
    if !parameters.is_empty() {
        put(&mut operation, "parameters", parameters);
    }
    if let Some(body) = request_body(path, action) {
        put(&mut operation, "requestBody", body);
    }
    operation
}

/// Returns the kind that operations of a path name: for a `scale` of a custom kind, the custom one.
fn shown_kind(path: &InstalledPath) -> GroupVersionKind {
    if is_custom(path) { path.resource.kind } else { path.capabilities.storage.kind() }
}

/// Returns the query parameters of an action.
fn queries(path: &InstalledPath, action: Action) -> Vec<Value> {
    let groups = if is_custom(path) { action.custom_parameters() } else { action.parameters() };
    let mut parameters: Vec<Value> = Vec::new();
    for (name, kind, description) in groups.iter().flat_map(|group| group.iter()) {
        if !parameters.iter().any(|own| own["name"] == **name) {
            parameters.push(query(name, kind, description));
        }
    }
    if is_custom(path) {
        sort_by_name(&mut parameters);
    }
    parameters
}

/// Sorts parameters by their names.
pub(super) fn sort_by_name(parameters: &mut [Value]) {
    parameters.sort_by(|parameter, other| parameter["name"].as_str().cmp(&other["name"].as_str()));
}

/// Returns the path of a version's resource list.
pub(super) fn resource_list(version: GroupVersion) -> Value {
    json!({ "get": {
        "description": "get available resources",
        "operationId": format!("get{}{}APIResources", group_id(version.group), capitalized(version.version)),
        "tags": [version_tag(version)],
        "responses": {
            "200": { "description": "OK", "content": content(&meta_name("APIResourceList"), &OBJECT_TYPES) },
            "401": { "description": "Unauthorized" },
        },
    } })
}

/// Returns a query parameter.
pub(super) fn query(name: &str, kind: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "query", "description": description,
        "schema": { "type": kind, "uniqueItems": true },
    })
}

/// Returns a path parameter.
pub(super) fn in_path(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": { "type": "string", "uniqueItems": true },
    })
}

/// Returns the path parameters of a resource's or subresource's objects.
pub(super) fn path_parameters(path: &InstalledPath, place: PathScope) -> Vec<Value> {
    let mut parameters = Vec::new();
    if matches!(place, PathScope::Object | PathScope::WatchedObject) {
        let description = format!("name of the {}", shown_kind(path).kind);
        parameters.push(in_path("name", &description));
    }
    if path.capabilities.storage.scope() == Scope::Namespaced && !place.is_everywhere() {
        let description = "object name and auth scope, such as for teams and projects";
        parameters.push(in_path("namespace", description));
    }
    parameters
}

fn request_body(path: &InstalledPath, action: Action) -> Option<Value> {
    let types: &[&str] = if is_custom(path) { &CUSTOM_TYPES } else { &["*/*"] };
    let any = |schema: &str| content(schema, types);
    Some(match action {
        Action::Get | Action::List | Action::Watch | Action::WatchList => return None,
        Action::DeleteCollection if is_custom(path) => return None,
        Action::Create | Action::Update => json!({ "content": any(&name(path)), "required": true }),
        Action::Delete | Action::DeleteCollection => json!({ "content": any(&meta_name("DeleteOptions")) }),
        Action::Patch => {
            let types =
                ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];
            // kubectl sends the strategic merge patches that are listed here, and the handlers support them
            // for the built-in kinds only.
            let offered = types
                .iter()
                .filter(|patch_type| path.resource.is_builtin || !patch_type.starts_with("strategic"));
            let schema = reference(&meta_name("Patch"));
            let content: Map<String, Value> = offered
                .map(|patch_type| (format!("application/{patch_type}"), json!({ "schema": schema })))
                .collect();
            json!({ "content": content, "required": true })
        }
    })
}

fn responses(path: &InstalledPath, action: Action) -> Value {
    let schema = match (action, &path.capabilities.lister) {
        (Action::List, Some(lister)) => list_name(path, lister.list_kind()),
        (Action::Watch | Action::WatchList, _) => meta_name("WatchEvent"),
        (Action::Delete, _) if path.resource.returns_deleted_object => name(path),
        (Action::Delete | Action::DeleteCollection, _) => meta_name("Status"),
        _ => name(path),
    };
    let streams = matches!(action, Action::List | Action::Watch | Action::WatchList);
    let types: Vec<&str> = match (is_custom(path), streams) {
        (true, _) => CUSTOM_TYPES.to_vec(),
        (false, true) => OBJECT_TYPES.into_iter().chain(STREAM_TYPES).collect(),
        (false, false) => OBJECT_TYPES.to_vec(),
    };
    let answer =
        |description: &str| json!({ "description": description, "content": content(&schema, &types) });
    let mut responses = json!({ "200": answer("OK"), "401": { "description": "Unauthorized" } });
    let may_create =
        matches!(action, Action::Create | Action::Update) || (action == Action::Patch && !is_custom(path));
    if may_create {
        put(&mut responses, "201", answer("Created"));
    }
    if matches!(action, Action::Create | Action::Delete) {
        put(&mut responses, "202", answer("Accepted"));
    }
    responses
}

/// Returns a body of one schema in several media types.
fn content(schema: &str, types: &[&str]) -> Value {
    let schema = json!({ "schema": reference(schema) });
    types.iter().map(|media_type| ((*media_type).to_owned(), schema.clone())).collect::<Map<_, _>>().into()
}
