//! One operation of a path.

use registry_core::api::{GroupVersion, Scope};
use registry_core::registry::InstalledPath;
use serde_json::{Map, Value, json};

use crate::json_fields::put;

use super::components::{group_version_kind, list_name, meta_name, name, reference};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Reads an object.
    Get,
    /// Reads or watches many.
    List,
    /// Follows one, by a path of before there was a parameter for it.
    Watch,
    /// Follows many, likewise.
    WatchList,
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
    /// The collection, below `watch/`.
    WatchedCollection,
    /// All namespaces, below `watch/`.
    WatchedEverywhere,
    /// One object, below `watch/`.
    WatchedObject,
}

/// What objects are given in.
pub(super) const OBJECT_TYPES: [&str; 3] =
    ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
/// What watches are given in.
const STREAM_TYPES: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

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
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether to delete an object that cannot be read any more, whatever may depend on it.",
    ),
    ("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
];

// === impl Place ===

impl Place {
    /// Whether the path is about all namespaces.
    pub(super) const fn is_everywhere(self) -> bool {
        matches!(self, Self::AllNamespaces | Self::WatchedEverywhere)
    }
}

// === impl Action ===

impl Action {
    /// The HTTP method, as OpenAPI has it.
    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Get | Self::List | Self::Watch | Self::WatchList => "get",
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
            Self::Watch => "watch",
            Self::WatchList => "watchlist",
            Self::DeleteCollection => "deletecollection",
            other => other.method(),
        }
    }

    const fn id_verb(self) -> &'static str {
        match self {
            Self::Get => "read",
            Self::List => "list",
            Self::Watch | Self::WatchList => "watch",
            Self::Create => "create",
            Self::Update => "replace",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }

    const fn parameters(self) -> &'static [Parameters] {
        match self {
            Self::Get => &[],
            Self::List | Self::Watch | Self::WatchList => &[SELECTION, WATCHING],
            Self::Create | Self::Update => &[WRITING],
            Self::Patch => &[WRITING, FORCING],
            Self::Delete => &[DELETING],
            Self::DeleteCollection => &[SELECTION, DELETING],
        }
    }

    /// What the operation does: with the object, or with a part of it (`of`: `status of `).
    fn description(self, kind: &str, of: &str) -> String {
        match self {
            Self::Get => format!("read {of}the specified {kind}"),
            Self::List => format!("list or watch objects of kind {kind}"),
            Self::Watch => format!(
                "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead, filtered to a single item with the 'fieldSelector' parameter."
            ),
            Self::WatchList => format!(
                "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead."
            ),
            Self::Create => format!("create {of}{}{kind}", article(kind)),
            Self::Update => format!("replace {of}the specified {kind}"),
            Self::Patch => format!("partially update {of}the specified {kind}"),
            Self::Delete => format!("delete {}{kind}", article(kind)),
            Self::DeleteCollection => format!("delete collection of {kind}"),
        }
    }
}

/// An operation, as far as clients validate, apply and explain by it.
pub(super) fn operation(path: &InstalledPath, place: Place, action: Action) -> Value {
    let kind = path.capabilities.storage.kind();
    let parameters = queries(action);
    let part = path.subresource.map(|name| format!("{name} of ")).unwrap_or_default();
    let mut description = action.description(path.resource.kind.kind, &part);
    if path.capabilities.watcher.is_none() {
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

/// The query parameters of an action.
fn queries(action: Action) -> Vec<Value> {
    let mut parameters: Vec<Value> = Vec::new();
    for (name, kind, description) in action.parameters().iter().flat_map(|group| group.iter()) {
        if !parameters.iter().any(|own| own["name"] == **name) {
            parameters.push(query(name, kind, description));
        }
    }
    parameters
}

/// The path that tells a version's resources.
pub(super) fn resource_list(version: GroupVersion) -> Value {
    let words: String = group_words(version.group).iter().map(|word| capitalized(word)).collect();
    json!({ "get": {
        "description": "get available resources",
        "operationId": format!("get{words}{}APIResources", capitalized(version.version)),
        "tags": [version_tag(version)],
        "responses": {
            "200": { "description": "OK", "content": content(&meta_name("APIResourceList"), &OBJECT_TYPES) },
            "401": { "description": "Unauthorized" },
        },
    } })
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
    if matches!(place, Place::Object | Place::WatchedObject) {
        let description = format!("name of the {}", path.capabilities.storage.kind().kind);
        parameters.push(in_path("name", &description));
    }
    if path.capabilities.storage.scope() == Scope::Namespaced && !place.is_everywhere() {
        let description = "object name and auth scope, such as for teams and projects";
        parameters.push(in_path("namespace", description));
    }
    parameters
}

fn request_body(path: &InstalledPath, action: Action) -> Option<Value> {
    let any = |schema: &str| json!({ "*/*": { "schema": reference(schema) } });
    Some(match action {
        Action::Get | Action::List | Action::Watch | Action::WatchList => return None,
        Action::Create | Action::Update => json!({ "content": any(&name(path)), "required": true }),
        Action::Delete | Action::DeleteCollection => json!({ "content": any(&meta_name("DeleteOptions")) }),
        Action::Patch => {
            let types =
                ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];
            // kubectl sends the strategic merge patches that are offered here, and the handlers take them for the
            // built-in kinds only.
            let offered =
                types.iter().filter(|one| path.resource.is_builtin || !one.starts_with("strategic"));
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
        (Action::Watch | Action::WatchList, _) => meta_name("WatchEvent"),
        (Action::Delete, _) if path.resource.returns_deleted_object => name(path),
        (Action::Delete | Action::DeleteCollection, _) => meta_name("Status"),
        _ => name(path),
    };
    let streams = matches!(action, Action::List | Action::Watch | Action::WatchList);
    let types: Vec<&str> =
        if streams { OBJECT_TYPES.into_iter().chain(STREAM_TYPES).collect() } else { OBJECT_TYPES.to_vec() };
    let answer =
        |description: &str| json!({ "description": description, "content": content(&schema, &types) });
    let mut responses = json!({ "200": answer("OK"), "401": { "description": "Unauthorized" } });
    if matches!(action, Action::Create | Action::Update | Action::Patch) {
        put(&mut responses, "201", answer("Created"));
    }
    if matches!(action, Action::Create | Action::Delete) {
        put(&mut responses, "202", answer("Accepted"));
    }
    responses
}

fn content(schema: &str, types: &[&str]) -> Value {
    let schema = json!({ "schema": reference(schema) });
    types.iter().map(|media_type| ((*media_type).to_owned(), schema.clone())).collect::<Map<_, _>>().into()
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
    let is_namespaced = path.capabilities.storage.scope() == Scope::Namespaced;
    let scope = if is_namespaced && !place.is_everywhere() { "Namespaced" } else { "" };
    let list = if action == Action::WatchList { "List" } else { "" };
    let kind = path.resource.kind.kind;
    let subresource = path.subresource.map(capitalized).unwrap_or_default();
    let all = if place.is_everywhere() { "ForAllNamespaces" } else { "" };
    format!(
        "{}{}{}{collection}{scope}{kind}{subresource}{list}{all}",
        action.id_verb(),
        group.iter().map(|word| capitalized(word)).collect::<String>(),
        capitalized(version.version),
    )
}

/// The name under which a version's operations are gathered.
pub(super) fn tag(path: &InstalledPath) -> String {
    version_tag(path.resource.group_version())
}

fn version_tag(version: GroupVersion) -> String {
    format!("{}_{}", group_tag(version.group), version.version)
}

/// `apps`, `rbacAuthorization`.
pub(super) fn group_tag(group: &str) -> String {
    let words = group_words(group);
    let (first, rest) = words.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let rest: String = rest.iter().map(|word| capitalized(word)).collect();
    format!("{first}{rest}")
}

/// What goes before a noun; nothing before a plural one.
fn article(kind: &str) -> &'static str {
    match kind {
        _ if kind.ends_with('s') && !kind.ends_with("ss") => "",
        _ if kind.starts_with(['A', 'E', 'I', 'O', 'U']) => "an ",
        _ => "a ",
    }
}

/// The words of a group's name.
pub(super) fn group_words(group: &str) -> Vec<&str> {
    match group {
        "" => vec!["core"],
        group => group.strip_suffix(".k8s.io").unwrap_or(group).split('.').collect(),
    }
}

/// The word, with its first letter large.
pub(super) fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
