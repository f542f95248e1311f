//! The aggregated documents: all groups in two responses.
//!
//! Kubernetes concept: `apidiscovery.k8s.io/v2 APIGroupDiscoveryList`.

use registry_core::api::Scope;
use registry_core::registry::InstalledPath;
use serde::Serialize;

use super::described::{
    Freshness, GroupDiscovery, KindDiscovery, ResourceDiscovery, SubresourceDiscovery, VersionDiscovery,
};
use super::groups::{Group, Version, is_custom};

/// Kubernetes' `APIGroupDiscoveryList`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroupDiscoveryList {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMetadata,
    items: Vec<GroupDiscovery>,
}

/// The metadata of the list, which has no fields.
#[derive(Serialize)]
struct ListMetadata {}

/// Returns the groups with all their versions and resources.
pub(super) fn group_items(groups: &[Group<'_>]) -> Vec<GroupDiscovery> {
    let item = |group: &Group<'_>| {
        GroupDiscovery::new(group.name, group.versions.iter().map(version_entry).collect())
    };
    groups.iter().map(item).collect()
}

/// Returns the list of these groups.
pub(super) fn list(items: Vec<GroupDiscovery>) -> impl Serialize {
    ApiGroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version: "apidiscovery.k8s.io/v2",
        metadata: ListMetadata {},
        items,
    }
}

fn version_entry(version: &Version<'_>) -> VersionDiscovery {
    let (freshness, resources) = match version.remote {
        Some(remote) => {
            let freshness = if remote.is_current { Freshness::Current } else { Freshness::Stale };
            (freshness, remote.resources.to_vec())
        }
        None => (Freshness::Current, own_resources(version)),
    };
    VersionDiscovery { version: version.name.to_owned(), freshness, resources }
}

fn own_resources(version: &Version<'_>) -> Vec<ResourceDiscovery> {
    let paths = version.listed();
    let resources = paths.iter().filter(|path| path.subresource.is_none());
    resources.map(|path| resource_entry(version, &paths, path)).collect()
}

fn resource_entry(
    version: &Version<'_>,
    paths: &[&InstalledPath],
    path: &InstalledPath,
) -> ResourceDiscovery {
    let own = &path.resource;
    let subresources = paths.iter().filter(|other| other.resource.plural == own.plural);
    let subresources = subresources.filter_map(|other| {
        Some(SubresourceDiscovery {
            subresource: other.subresource?.to_owned(),
            response_kind: response_kind(other),
            verbs: owned(&other.capabilities.verbs()),
        })
    });
    ResourceDiscovery {
        resource: own.plural.to_owned(),
        response_kind: response_kind(path),
        scope: ResourceDiscovery::scope(path.capabilities.storage.scope() == Scope::Namespaced),
        singular_resource: own.singular.to_owned(),
        verbs: owned(&version.verbs(path)),
        short_names: owned(own.short_names),
        categories: owned(own.categories),
        subresources: subresources.collect(),
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Returns the kind that a path responds with. Group and version are left empty if they are the path's own, except for
/// custom kinds.
fn response_kind(path: &InstalledPath) -> KindDiscovery {
    let kind = path.capabilities.storage.kind();
    if kind.group_version() == path.resource.group_version() && !is_custom(path) {
        return KindDiscovery { kind: kind.kind.to_owned(), ..KindDiscovery::default() };
    }
    KindDiscovery {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        kind: kind.kind.to_owned(),
    }
}
