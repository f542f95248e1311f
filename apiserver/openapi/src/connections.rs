//! The operations of connect paths: any method, with text or anything else as the response.

use registry_core::registry::InstalledPath;
use registry_core::rest::connect::{ConnectSpec, OptionType};
use serde_json::{Map, Value, json};

use super::actions::PathScope;
use super::references::group_version_kind;
use super::{names, operations};

/// Adds a connect path, and the one below it if there is one.
pub(super) fn add(paths: &mut Map<String, Value>, url: &str, path: &InstalledPath, accepted: &ConnectSpec) {
    paths.insert(url.to_owned(), item(path, accepted, ""));
    if accepted.has_path {
        paths.insert(format!("{url}/{{path}}"), item(path, accepted, "WithPath"));
    }
}

fn item(path: &InstalledPath, accepted: &ConnectSpec, suffix: &str) -> Value {
    let mut item: Map<String, Value> = methods(accepted)
        .map(|method| (method.to_owned(), operation(path, accepted, method, suffix)))
        .collect();
    let mut parameters = operations::path_parameters(path, PathScope::Object);
    if !suffix.is_empty() {
        parameters.push(operations::in_path("path", "path to the resource"));
    }
    if is_read(path, accepted) {
        parameters.push(operations::query(
            "pretty",
            "string",
            "If 'true', then the output is pretty printed.",
        ));
    }
    // Kubernetes describes a list by its elements, and does not describe times.
    for (name, kind) in accepted.options {
        let kind = match kind {
            OptionType::Text | OptionType::Texts => "string",
            OptionType::Switch => "boolean",
            OptionType::Integer | OptionType::Integers => "integer",
            OptionType::Time => continue,
        };
        parameters.push(operations::query(name, kind, "See the options' kind."));
    }
    item.insert("parameters".to_owned(), parameters.into());
    Value::Object(item)
}

/// Whether a path returns its parent's kind: logs are read and not connected to.
fn is_read(path: &InstalledPath, accepted: &ConnectSpec) -> bool {
    path.capabilities.storage.kind() != accepted.options_kind
}

/// Returns the HTTP methods: those of the verbs, and for a proxy that accepts every request also those
/// without a verb.
fn methods(accepted: &ConnectSpec) -> impl Iterator<Item = &'static str> {
    let of_verbs = accepted.verbs.iter().filter_map(|verb| match *verb {
        "create" => Some("post"),
        "delete" => Some("delete"),
        "get" => Some("get"),
        "patch" => Some("patch"),
        "update" => Some("put"),
        _ => None,
    });
    let others = ["head", "options"].into_iter().filter(|_| accepted.has_path);
    of_verbs.chain(others)
}

fn operation(path: &InstalledPath, accepted: &ConnectSpec, method: &str, suffix: &str) -> Value {
    let kind = path.capabilities.storage.kind();
    let parent = path.resource.kind.kind;
    let subresource = path.subresource.unwrap_or_default();
    let is_read = is_read(path, accepted);
    let text = json!({ "schema": { "type": "string" } });
    let (action, description, content) = if is_read {
        let description = format!("read {subresource} of the specified {parent}");
        let types = operations::OBJECT_TYPES.into_iter().chain(["text/plain"]);
        let content: Map<String, Value> =
            types.map(|media_type| (media_type.to_owned(), text.clone())).collect();
        ("get", description, content.into())
    } else {
        let description = format!("connect {} requests to {subresource} of {parent}", method.to_uppercase());
        ("connect", description, json!({ "*/*": text }))
    };
    let verb = if is_read { "read" } else { "connect" };
    let method = if is_read { "" } else { method };
    json!({
        "description": description,
        "operationId": format!("{}{suffix}", names::connection_id(path, verb, method)),
        "tags": [names::tag(path)],
        "responses": {
            "200": { "description": "OK", "content": content },
            "401": { "description": "Unauthorized" },
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": group_version_kind(kind),
    })
}
