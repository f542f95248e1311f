//! One operation of a path.

use registry_core::api::Scope;
use registry_core::registry::InstalledPath;
use serde_json::{Map, Value, json};

use crate::discovery::is_builtin_group;
use crate::json_fields::put;

use super::components::{group_version_kind, list_name, meta_name, name, reference};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Reads an object.
    Get,
    /// Reads or watches many.
    List,
    /// Makes one.
    Create,
    /// Replaces one.
    Update,
    /// Changes one.
    Patch,
    /// Deletes one.
    Delete,
    /// Deletes many.
    DeleteCollection,
}

/// What a path is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// All objects of a namespace, or of the cluster.
    Collection,
    /// The objects of all namespaces.
    AllNamespaces,
    /// One object, or a subresource of it.
    Object,
}

/// `(name, type, description)` of query parameters.
type Parameters = &'static [(&'static str, &'static str, &'static str)];

const SELECTION: Parameters = &[
    ("continue", "string", "The token of the page before, to get the next one."),
    ("fieldSelector", "string", "A selector to restrict the list of returned objects by their fields."),
    ("labelSelector", "string", "A selector to restrict the list of returned objects by their labels."),
    ("limit", "integer", "The maximum number of objects in one answer."),
    ("resourceVersion", "string", "Which resource versions the request may be served from."),
    ("resourceVersionMatch", "string", "How resourceVersion is applied to list calls."),
    ("sendInitialEvents", "boolean", "Whether a watch begins with the present state."),
    ("timeoutSeconds", "integer", "Timeout for the list or watch call."),
];
const WATCHING: Parameters = &[
    ("allowWatchBookmarks", "boolean", "Whether a watch sends bookmarks."),
    ("watch", "boolean", "Watch for changes and return them as a stream of notifications."),
];
const WRITING: Parameters = &[
    ("dryRun", "string", "When present, indicates that modifications should not be persisted: All."),
    ("fieldManager", "string", "The name of the actor that is making these changes."),
    (
        "fieldValidation",
        "string",
        "What to do about unknown and duplicate fields: Ignore, Warn (the default) or Strict.",
    ),
];
const FORCING: Parameters =
    &[("force", "boolean", "Whether an apply takes fields over from their managers.")];
const DELETING: Parameters = &[
    ("dryRun", "string", "When present, indicates that modifications should not be persisted: All."),
    ("gracePeriodSeconds", "integer", "The duration in seconds before the object should be deleted."),
    ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    ("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
];

// === impl Action ===

impl Action {
    /// The HTTP method, as OpenAPI has it.
    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Get | Self::List => "get",
            Self::Create => "post",
            Self::Update => "put",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }

    /// `x-kubernetes-action`.
    const fn kubernetes_action(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::DeleteCollection => "deletecollection",
            other => other.method(),
        }
    }

    const fn id_verb(self) -> &'static str {
        match self {
            Self::Get => "read",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "replace",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }

    const fn parameters(self) -> &'static [Parameters] {
        match self {
            Self::Get => &[],
            Self::List => &[SELECTION, WATCHING],
            Self::Create | Self::Update => &[WRITING],
            Self::Patch => &[WRITING, FORCING],
            Self::Delete => &[DELETING],
            Self::DeleteCollection => &[SELECTION, DELETING],
        }
    }

    fn description(self, kind: &str) -> String {
        match self {
            Self::Get => format!("read the specified {kind}"),
            Self::List => format!("list or watch objects of kind {kind}"),
            Self::Create => format!("create a {kind}"),
            Self::Update => format!("replace the specified {kind}"),
            Self::Patch => format!("partially update the specified {kind}"),
            Self::Delete => format!("delete a {kind}"),
            Self::DeleteCollection => format!("delete collection of {kind}"),
        }
    }
}

/// An operation, as far as clients validate, apply and explain by it.
pub(super) fn operation(path: &InstalledPath, place: Place, action: Action) -> Value {
    let kind = path.capabilities.storage.kind();
    let mut parameters: Vec<Value> = Vec::new();
    for (name, kind, description) in action.parameters().iter().flat_map(|group| group.iter()) {
        if !parameters.iter().any(|own| own["name"] == **name) {
            parameters.push(query(name, kind, description));
        }
    }
    let mut operation = json!({
        "description": action.description(kind.kind),
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

/// A query parameter.
pub(super) fn query(name: &str, kind: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "query", "description": description,
        "schema": { "type": kind, "uniqueItems": true },
    })
}

/// A parameter that is part of the path.
pub(super) fn in_path(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": { "type": "string", "uniqueItems": true },
    })
}

/// The parameters in the path of a resource's or subresource's objects.
pub(super) fn path_parameters(path: &InstalledPath, place: Place) -> Vec<Value> {
    let mut parameters = Vec::new();
    if place == Place::Object {
        let description = format!("name of the {}", path.capabilities.storage.kind().kind);
        parameters.push(in_path("name", &description));
    }
    if path.capabilities.storage.scope() == Scope::Namespaced && place != Place::AllNamespaces {
        let description = "object name and auth scope, such as for teams and projects";
        parameters.push(in_path("namespace", description));
    }
    parameters
}

fn request_body(path: &InstalledPath, action: Action) -> Option<Value> {
    let any = |schema: &str| json!({ "*/*": { "schema": reference(schema) } });
    Some(match action {
        Action::Get | Action::List => return None,
        Action::Create | Action::Update => json!({ "content": any(&name(path)), "required": true }),
        Action::Delete | Action::DeleteCollection => json!({ "content": any(&meta_name("DeleteOptions")) }),
        Action::Patch => {
            let types =
                ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];
            // kubectl sends the strategic merge patches that are offered here, and the handlers take them for the
            // built-in kinds only.
            let is_builtin = is_builtin_group(path.resource.kind.group);
            let offered = types.iter().filter(|one| is_builtin || !one.starts_with("strategic"));
            let schema = reference(&meta_name("Patch"));
            let content: Map<String, Value> =
                offered.map(|one| (format!("application/{one}"), json!({ "schema": schema }))).collect();
            json!({ "content": content, "required": true })
        }
    })
}

fn responses(path: &InstalledPath, action: Action) -> Value {
    let schema = match (action, &path.capabilities.lister) {
        (Action::List, Some(lister)) => list_name(path, lister.list_kind()),
        (Action::Delete | Action::DeleteCollection, _) => meta_name("Status"),
        _ => name(path),
    };
    let answer = |description: &str| {
        let schema = json!({ "schema": reference(&schema) });
        json!({
            "description": description,
            "content": { "application/json": schema, "application/yaml": schema },
        })
    };
    let mut responses = json!({ "200": answer("OK"), "401": { "description": "Unauthorized" } });
    if matches!(action, Action::Create | Action::Update | Action::Patch) {
        put(&mut responses, "201", answer("Created"));
    }
    responses
}

/// `connectCoreV1GetNamespacedPodExec`, `readCoreV1NamespacedPodLog`.
pub(super) fn connection_id(path: &InstalledPath, verb: &str, method: &str) -> String {
    let version = path.resource.group_version();
    let group: String = group_words(version.group).iter().map(|word| capitalized(word)).collect();
    let scope = match path.capabilities.storage.scope() {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "",
    };
    let (version, method) = (capitalized(version.version), capitalized(method));
    let subresource = path.subresource.map(capitalized).unwrap_or_default();
    format!("{verb}{group}{version}{method}{scope}{}{subresource}", path.resource.kind.kind)
}

/// `createAppsV1NamespacedDeployment`, `readAppsV1NamespacedDeploymentStatus`, …
fn operation_id(path: &InstalledPath, place: Place, action: Action) -> String {
    let version = path.resource.group_version();
    let group = group_words(version.group);
    let collection = if action == Action::DeleteCollection { "Collection" } else { "" };
    let scope = match (path.capabilities.storage.scope(), place) {
        (Scope::Namespaced, Place::Collection | Place::Object) => "Namespaced",
        _ => "",
    };
    let kind = path.resource.kind.kind;
    let subresource = path.subresource.map(capitalized).unwrap_or_default();
    let all = if place == Place::AllNamespaces { "ForAllNamespaces" } else { "" };
    format!(
        "{}{}{}{collection}{scope}{kind}{subresource}{all}",
        action.id_verb(),
        group.iter().map(|word| capitalized(word)).collect::<String>(),
        capitalized(version.version),
    )
}

/// The name under which a group's operations are gathered.
pub(super) fn tag(path: &InstalledPath) -> String {
    let version = path.resource.group_version();
    let words = group_words(version.group);
    let (first, rest) = words.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let rest: String = rest.iter().map(|word| capitalized(word)).collect();
    format!("{first}{rest}_{}", version.version)
}

fn group_words(group: &str) -> Vec<&str> {
    match group {
        "" => vec!["core"],
        group => group.strip_suffix(".k8s.io").unwrap_or(group).split('.').collect(),
    }
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
