//! The aggregated documents: all groups in two responses.
//!
//! Kubernetes concept: `apidiscovery.k8s.io/v2 APIGroupDiscoveryList`.

use registry_core::api::Scope;
use registry_core::registry::InstalledPath;
use serde::Serialize;
use serde_json::{Value, json};

use registry_core::json_fields::put;

use super::groups::{Group, Version, is_custom};

/// Kubernetes' `APIGroupDiscoveryList`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroupDiscoveryList {
    kind: &'static str,
    api_version: &'static str,
    metadata: Value,
    items: Vec<Value>,
}

/// Returns the groups with all their versions and resources.
pub(super) fn group_items(groups: &[Group<'_>]) -> Vec<Value> {
    let item = |group: &Group<'_>| {
        let metadata = if group.name.is_empty() { json!({}) } else { json!({ "name": group.name }) };
        let versions: Vec<Value> = group.versions.iter().map(version_entry).collect();
        json!({ "metadata": metadata, "versions": versions })
    };
    groups.iter().map(item).collect()
}

/// Returns the list of these groups.
pub(super) fn list(items: Vec<Value>) -> impl Serialize {
    ApiGroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version: "apidiscovery.k8s.io/v2",
        metadata: json!({}),
        items,
    }
}

fn version_entry(version: &Version<'_>) -> Value {
    if let Some(remote) = version.remote {
        let freshness = if remote.is_current { "Current" } else { "Stale" };
        let mut entry = json!({ "version": version.name, "freshness": freshness });
        if remote.resources.as_array().is_some_and(|resources| !resources.is_empty()) {
            put(&mut entry, "resources", (*remote.resources).clone());
        }
        return entry;
    }
    let paths = version.listed();
    let resources: Vec<Value> = (paths.iter())
        .filter(|path| path.subresource.is_none())
        .map(|path| resource_entry(version, &paths, path))
        .collect();
    json!({ "version": version.name, "freshness": "Current", "resources": resources })
}

fn resource_entry(version: &Version<'_>, paths: &[&InstalledPath], path: &InstalledPath) -> Value {
    let own = &path.resource;
    let mut entry = json!({
        "resource": own.plural, "responseKind": response_kind(path), "singularResource": own.singular,
        "scope": match path.capabilities.storage.scope() {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        },
        "verbs": version.verbs(path),
    });
    if !own.short_names.is_empty() {
        put(&mut entry, "shortNames", own.short_names);
    }
    if !own.categories.is_empty() {
        put(&mut entry, "categories", own.categories);
    }
    let subresources: Vec<Value> = (paths.iter())
        .filter(|other| other.resource.plural == own.plural)
        .filter_map(|other| {
            let subresource = other.subresource?;
            let verbs = other.capabilities.verbs();
            Some(json!({ "subresource": subresource, "responseKind": response_kind(other), "verbs": verbs }))
        })
        .collect();
    if !subresources.is_empty() {
        put(&mut entry, "subresources", subresources);
    }
    entry
}

/// Returns the kind that a path responds with. Group and version are left empty if they are the path's own, except for
/// custom kinds.
fn response_kind(path: &InstalledPath) -> Value {
    let kind = path.capabilities.storage.kind();
    if kind.group_version() == path.resource.group_version() && !is_custom(path) {
        return json!({ "group": "", "version": "", "kind": kind.kind });
    }
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}
