//! The unaggregated documents: `APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use registry_core::api::Scope;
use registry_core::registry::InstalledPath;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use crate::json_fields::put;

use super::groups::{Group, Version};

const ADMISSION: &str = "admissionregistration.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";

/// A kind that Kubernetes keeps in a version that is not served here.
struct KeptElsewhere {
    /// Group, version and kind as served.
    served: (&'static str, &'static str, &'static str),
    /// Group and version as kept.
    kept: (&'static str, &'static str),
}

/// All such kinds.
const KEPT_ELSEWHERE: [KeptElsewhere; 3] = [
    KeptElsewhere { served: (ADMISSION, "v1", "MutatingAdmissionPolicy"), kept: (ADMISSION, "v1beta1") },
    KeptElsewhere {
        served: (ADMISSION, "v1", "MutatingAdmissionPolicyBinding"),
        kept: (ADMISSION, "v1beta1"),
    },
    KeptElsewhere { served: (EXTENSIONS, "v1", "CustomResourceDefinition"), kept: (EXTENSIONS, "v1beta1") },
];

/// `/api`.
pub(super) fn core_versions(core: &[&Group<'_>]) -> Value {
    let versions: Vec<&str> =
        core.iter().flat_map(|group| &group.versions).map(|version| version.name).collect();
    // This server has one address, the one the client just used: there is none to point to.
    json!({ "kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": [] })
}

/// `/apis`.
pub(super) fn group_list(groups: &[&Group<'_>]) -> Value {
    let groups: Vec<Value> = groups.iter().map(|group| Value::Object(group_fields(group))).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/{group}`.
pub(super) fn group_document(group: &Group<'_>) -> Value {
    let mut fields = group_fields(group);
    fields.insert("kind".to_owned(), "APIGroup".into());
    fields.insert("apiVersion".to_owned(), "v1".into());
    Value::Object(fields)
}

fn group_fields(group: &Group<'_>) -> Map<String, Value> {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| json!({ "groupVersion": version.group_version(), "version": version.name }))
        .collect();
    let mut fields = Map::new();
    fields.insert("name".to_owned(), group.name.into());
    fields.insert("preferredVersion".to_owned(), versions.first().cloned().unwrap_or_default());
    fields.insert("versions".to_owned(), versions.into());
    fields
}

/// `/api/v1`, `/apis/{group}/{version}`.
pub(super) fn resource_list(version: &Version<'_>) -> Value {
    let resources: Vec<Value> = version.paths.iter().map(|path| resource(path)).collect();
    let mut list = json!({
        "kind": "APIResourceList", "groupVersion": version.group_version(), "resources": resources,
    });
    // The core group's document is older than the field.
    if !version.group.is_empty() {
        put(&mut list, "apiVersion", "v1");
    }
    list
}

fn resource(path: &InstalledPath) -> Value {
    let own = path.resource;
    let storage = &path.capabilities.storage;
    let kind = storage.kind();
    let mut entry = json!({
        "name": own.plural, "singularName": own.singular, "kind": kind.kind,
        "namespaced": storage.scope() == Scope::Namespaced, "verbs": path.capabilities.verbs(),
    });
    if kind.group_version() != own.group_version() {
        put(&mut entry, "version", kind.version);
        if !kind.group.is_empty() {
            put(&mut entry, "group", kind.group);
        }
    }
    if let Some(subresource) = path.subresource {
        put(&mut entry, "name", format!("{}/{subresource}", own.plural));
        put(&mut entry, "singularName", "");
        return entry;
    }
    if !own.short_names.is_empty() {
        put(&mut entry, "shortNames", own.short_names);
    }
    if !own.categories.is_empty() {
        put(&mut entry, "categories", own.categories);
    }
    // What can be watched is stored; reviews and the like are not.
    if path.capabilities.watcher.is_some() {
        // Of a spoke, its hub is kept.
        let kind = own.stored().kind;
        let served = (kind.group, kind.version, kind.kind);
        let kept = KEPT_ELSEWHERE.iter().find(|own| own.served == served).map(|own| own.kept);
        let (group, version) = kept.unwrap_or((kind.group, kind.version));
        put(&mut entry, "storageVersionHash", storage_version_hash(group, version, kind.kind));
    }
    entry
}

/// The hash that tells clients when the version a kind is stored in changes.
pub(super) fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = digest(&SHA256, format!("{group}/{version}/{kind}").as_bytes());
    BASE64_STANDARD.encode(digest.as_ref().get(..8).unwrap_or_default())
}
