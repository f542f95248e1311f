//! The unaggregated documents: `APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`.
//!
//! Fields are in the order of Kubernetes' Go types, because scripts search for parts of the text.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use registry_core::api::Scope;
use registry_core::registry::InstalledPath;
use ring::digest::{SHA256, digest};
use serde::Serialize;

use super::groups::{Group, Version};

/// The group and kind of definitions. Kubernetes stores them in a version that is not served here.
const DEFINITION: (&str, &str) = ("apiextensions.k8s.io", "CustomResourceDefinition");

/// Kubernetes' `APIVersions`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiVersions<'a> {
    kind: &'static str,
    versions: Vec<&'a str>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_addresses: [(); 0],
}

/// Kubernetes' `APIGroupList`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroupList<'a> {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup<'a>>,
}

/// Kubernetes' `APIGroup`; without kind and version in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    name: &'a str,
    versions: Vec<GroupVersionForDiscovery<'a>>,
    preferred_version: Option<GroupVersionForDiscovery<'a>>,
}

/// Kubernetes' `GroupVersionForDiscovery`.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersionForDiscovery<'a> {
    group_version: String,
    version: &'a str,
}

/// Kubernetes' `APIResourceList`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResourceList<'a> {
    kind: &'static str,
    /// `None` in the core group's document, which is older than the field.
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    group_version: String,
    resources: Vec<ApiResource<'a>>,
}

/// Kubernetes' `APIResource`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource<'a> {
    name: String,
    singular_name: &'static str,
    namespaced: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'static str,
    kind: &'static str,
    verbs: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [&'static str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [&'static str],
    #[serde(skip_serializing_if = "String::is_empty")]
    storage_version_hash: String,
}

/// Returns the document of `/api`.
pub(super) fn core_versions(core: &[Group<'_>]) -> impl Serialize {
    let versions = core.iter().flat_map(|group| &group.versions).map(|version| version.name).collect();
    // There is no other server address: the client has just used this one.
    ApiVersions { kind: "APIVersions", versions, server_addresses: [] }
}

/// Returns the document of `/apis`.
pub(super) fn group_list(groups: &[Group<'_>]) -> impl Serialize {
    let groups = groups.iter().map(|group| api_group(group, "", "")).collect();
    ApiGroupList { kind: "APIGroupList", api_version: "v1", groups }
}

/// Returns the document of `/apis/{group}`.
pub(super) fn group_document(group: &Group<'_>) -> impl Serialize {
    api_group(group, "APIGroup", "v1")
}

fn api_group<'a>(group: &Group<'a>, kind: &'static str, api_version: &'static str) -> ApiGroup<'a> {
    let versions: Vec<_> = group
        .versions
        .iter()
        .map(|version| GroupVersionForDiscovery {
            group_version: version.group_version(),
            version: version.name,
        })
        .collect();
    let preferred_version = versions.first().cloned();
    ApiGroup { kind, api_version, name: group.name, versions, preferred_version }
}

/// Returns the document of `/api/v1` or `/apis/{group}/{version}`.
pub(super) fn resource_list(version: &Version<'_>) -> impl Serialize {
    ApiResourceList {
        kind: "APIResourceList",
        api_version: if version.group.is_empty() { "" } else { "v1" },
        group_version: version.group_version(),
        resources: version.listed().into_iter().map(|path| resource(version, path)).collect(),
    }
}

fn resource<'a>(version: &Version<'_>, path: &'a InstalledPath) -> ApiResource<'a> {
    let own = &path.resource;
    let storage = &path.capabilities.storage;
    let kind = storage.kind();
    let verbs = version.verbs(path);
    let (group, version) =
        if kind.group_version() == own.group_version() { ("", "") } else { (kind.group, kind.version) };
    let entry = ApiResource {
        name: own.plural.to_owned(),
        singular_name: own.singular,
        namespaced: storage.scope() == Scope::Namespaced,
        group,
        version,
        kind: kind.kind,
        verbs,
        short_names: own.short_names,
        categories: own.categories,
        storage_version_hash: String::new(),
    };
    if let Some(subresource) = path.subresource {
        let name = format!("{}/{subresource}", own.plural);
        return ApiResource { name, singular_name: "", short_names: &[], categories: &[], ..entry };
    }
    // Only stored resources can be watched; reviews and the like are not stored.
    if path.capabilities.watcher.is_none() {
        return entry;
    }
    // A spoke is stored as its hub, or as an older version that other servers can read.
    let kind = path.versions.as_ref().map_or_else(|| own.stored().kind, |versions| versions.stored().kind);
    let version = if (kind.group, kind.kind) == DEFINITION { "v1beta1" } else { kind.version };
    ApiResource { storage_version_hash: storage_version_hash(kind.group, version, kind.kind), ..entry }
}

/// Returns the hash by which clients detect that a kind's storage version changes.
pub(super) fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = digest(&SHA256, format!("{group}/{version}/{kind}").as_bytes());
    BASE64_STANDARD.encode(digest.as_ref().get(..8).unwrap_or_default())
}
