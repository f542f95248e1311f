//! Served groups and versions, as their documents describe them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use registry_core::api::compare_versions;
use registry_core::registry::InstalledPath;
use resources::api::apiregistration::apiservices::local::{Priorities, priorities};

use super::remote::RemoteVersion;

/// The verbs of custom resources, in the order in which Kubernetes lists them.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// Those that are not offered while the definition is being deleted.
const CUSTOM_WRITES: [&str; 3] = ["patch", "create", "update"];

/// A group with its versions, the preferred one first.
pub(crate) struct Group<'a> {
    /// The group; empty for the core group.
    pub(crate) name: &'a str,
    /// Its versions.
    pub(crate) versions: Vec<Version<'a>>,
}

/// A version with its paths.
pub(crate) struct Version<'a> {
    /// The group; empty for the core group.
    pub(crate) group: &'a str,
    /// The version.
    pub(crate) name: &'a str,
    /// Its paths, by resource and subresource.
    pub(crate) paths: Vec<&'a InstalledPath>,
    /// The resources whose definition is being deleted.
    pub(crate) terminating: &'a BTreeSet<&'static str>,
    /// The description by the extension server that serves the version; `None` if this server does.
    pub(crate) remote: Option<&'a RemoteVersion>,
}

/// Sorts versions by preference: stable before beta before alpha, then the higher number; others by name.
pub(crate) fn sort_by_preference<T>(versions: &mut [T], name: impl Fn(&T) -> &'static str) {
    versions.sort_by(|a, b| compare_versions(name(b), name(a)));
}

// === impl Group ===

impl<'a> Group<'a> {
    /// Returns a group of extension servers.
    pub(crate) fn from_remote(name: &'a str, remote: Vec<Version<'a>>) -> Self {
        let mut group = Self { name, versions: Vec::new() };
        group.merge(remote);
        group
    }

    /// Adds the versions of extension servers; each replaces this server's own of its name. Versions with the same priority
    /// are ordered by name.
    pub(crate) fn merge(&mut self, remote: Vec<Version<'a>>) {
        self.versions.retain(|own| !remote.iter().any(|other| other.name == own.name));
        self.versions.extend(remote);
        self.versions.sort_by(|a, b| {
            let priorities = b.priorities().version.cmp(&a.priorities().version);
            priorities.then_with(|| compare_versions(b.name, a.name))
        });
    }

    /// Returns the highest priority that a version gives the group.
    fn priority(&self) -> i64 {
        self.versions.iter().map(|version| version.priorities().group).max().unwrap_or_default()
    }

    /// Returns the sort key in the aggregated form: the priority, then the name.
    pub(super) fn aggregated_order(&self) -> (Reverse<i64>, &'a str) {
        (Reverse(self.priority()), self.name)
    }

    /// Returns the sort key in the list of groups: the priority, then the name of the first APIService that gives it.
    pub(super) fn listed_order(&self) -> (Reverse<i64>, String) {
        let priority = self.priority();
        let first = self.versions.iter().filter(|version| version.priorities().group == priority);
        let first = first.map(|version| format!("{}.{}", version.name, version.group)).min();
        (Reverse(priority), first.unwrap_or_default())
    }
}

// === impl Version ===

impl<'a> Version<'a> {
    /// Returns a version that an extension server serves.
    pub(crate) fn from_remote(remote: &'a RemoteVersion) -> Self {
        const NONE: &BTreeSet<&str> = &BTreeSet::new();
        let RemoteVersion { group, version, .. } = remote;
        Self { group, name: version, paths: Vec::new(), terminating: NONE, remote: Some(remote) }
    }

    /// Returns the priorities of its APIService.
    fn priorities(&self) -> Priorities {
        match self.remote {
            Some(remote) => remote.priorities,
            None => priorities(self.group, self.name),
        }
    }

    /// Returns the version's path.
    pub(super) fn path(&self) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        format!("/{root}/{}", self.group_version())
    }

    /// Returns the `groupVersion` of documents.
    pub(super) fn group_version(&self) -> String {
        if self.group.is_empty() { self.name.to_owned() } else { format!("{}/{}", self.group, self.name) }
    }

    /// Returns the paths in the order of documents: Kubernetes lists `scale` last for custom resources.
    pub(super) fn listed(&self) -> Vec<&'a InstalledPath> {
        let mut paths = self.paths.clone();
        let is_last = |path: &InstalledPath| is_custom(path) && path.subresource == Some("scale");
        paths.sort_by_key(|path| (path.resource.plural, is_last(path)));
        paths
    }

    /// Returns the verbs of a path.
    pub(super) fn verbs(&self, path: &InstalledPath) -> Vec<&'static str> {
        let served = path.capabilities.verbs();
        if path.subresource.is_some() || !is_custom(path) {
            return served;
        }
        let is_terminating = self.terminating.contains(path.resource.plural);
        let offered = CUSTOM_VERBS.into_iter().filter(|verb| served.contains(verb));
        offered.filter(|verb| !(is_terminating && CUSTOM_WRITES.contains(verb))).collect()
    }
}

/// Returns whether this is a path of a custom kind.
pub(super) fn is_custom(path: &InstalledPath) -> bool {
    path.resource.schema.is_custom()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(group: &str, version: &str, priorities: (i64, i64)) -> RemoteVersion {
        RemoteVersion {
            group: group.to_owned(),
            version: version.to_owned(),
            priorities: Priorities { group: priorities.0, version: priorities.1 },
            is_current: true,
            resources: std::sync::Arc::default(),
            openapi: None,
            spec: None,
        }
    }

    #[test]
    fn priorities_order_versions_and_groups() {
        let versions = [("v2", 10), ("v1", 20), ("v1beta1", 10), ("v10", 10)];
        let versions = versions.map(|(version, priority)| remote("g", version, (100, priority)));
        let group = Group::from_remote("g", versions.iter().map(Version::from_remote).collect());
        let names: Vec<&str> = group.versions.iter().map(|version| version.name).collect();
        assert_eq!(names, ["v1", "v10", "v2", "v1beta1"]);

        let all = [
            remote("a", "v2", (1000, 1)),
            remote("b", "v1", (1000, 1)),
            remote("c", "v1", (2000, 1)),
            remote("d", "v1", (10, 1)),
            remote("d", "v3", (3000, 1)),
        ];
        let groups = |order: fn(&mut Vec<Group<'_>>)| -> Vec<String> {
            let of = |name: &'static str| {
                let versions = all.iter().filter(|version| version.group == name);
                Group::from_remote(name, versions.map(Version::from_remote).collect())
            };
            let mut groups = ["a", "b", "c", "d"].map(of).into_iter().collect();
            order(&mut groups);
            groups.iter().map(|group| group.name.to_owned()).collect()
        };
        let aggregated = groups(|groups| groups.sort_by_cached_key(Group::aggregated_order));
        assert_eq!(aggregated, ["d", "c", "a", "b"]);
        let listed = groups(|groups| groups.sort_by_cached_key(Group::listed_order));
        assert_eq!(listed, ["d", "c", "b", "a"], "v1.b comes before v2.a");
    }

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions =
            ["v1alpha1", "foo10", "v2", "v1beta2", "v11alpha2", "v10", "v1", "foo1", "v1beta10"];
        sort_by_preference(&mut versions, |version| version);
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v1beta10", "v1beta2", "v11alpha2", "v1alpha1", "foo1", "foo10"]
        );
    }
}
