//! The groups of another server of the cluster, as its documents of discovery say.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::descriptions;
use crate::discovery::{GroupDiscovery, ResourceDiscovery};

/// The groups of another server: the core group too, whose versions begin with a slash (`/v1`).
#[derive(Debug, Default, PartialEq)]
pub(super) struct Described(Vec<GroupDiscovery>);

// === impl Described ===

impl Described {
    /// Adds the groups of an `APIGroupDiscoveryList`; `None` if it is something else.
    pub(super) fn add(&mut self, list: &Value) -> Option<()> {
        self.0.extend(descriptions::groups(list)?);
        Some(())
    }

    /// Returns the groups in `/apis`: all but the core group.
    pub(super) fn named_groups(&self) -> Vec<GroupDiscovery> {
        self.0.iter().filter(|group| !group.name().is_empty()).cloned().collect()
    }

    /// Returns the group versions (`apps/v1`) with their resources.
    pub(super) fn versions(&self) -> impl Iterator<Item = (String, &[ResourceDiscovery])> {
        self.0.iter().flat_map(|group| {
            let versions = group.versions.iter();
            versions.map(|version| (group_version(group.name(), &version.version), &*version.resources))
        })
    }

    /// Removes group versions; returns whether there was one.
    pub(super) fn remove(&mut self, removed: &BTreeSet<String>) -> bool {
        let mut has_removed = false;
        for GroupDiscovery { metadata, versions } in &mut self.0 {
            let before = versions.len();
            versions.retain(|version| !removed.contains(&group_version(&metadata.name, &version.version)));
            has_removed |= versions.len() < before;
        }
        self.0.retain(|group| !group.versions.is_empty());
        has_removed
    }
}

fn group_version(group: &str, version: &str) -> String {
    format!("{group}/{version}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn group_versions_are_removed_wherever_they_are() {
        let version = |name: &str| json!({ "version": name, "resources": [{ "resource": "xs" }] });
        let items = json!([
            { "metadata": {}, "versions": [version("v1")] },
            { "metadata": { "name": "a" }, "versions": [version("v1"), version("v2")] },
            { "metadata": { "name": "b" }, "versions": [version("v1")] },
        ]);
        let mut described = Described::default();
        described.add(&json!({ "kind": "APIGroupDiscoveryList", "items": items })).unwrap();
        assert!(!described.remove(&BTreeSet::from(["c/v1".to_owned()])));
        assert!(described.remove(&BTreeSet::from(["a/v1".to_owned(), "b/v1".to_owned()])));
        let left: Vec<_> =
            described.versions().map(|(version, resources)| (version, resources.len())).collect();
        assert_eq!(left, [("/v1".to_owned(), 1), ("a/v2".to_owned(), 1)]);
        let shown = described.named_groups();
        assert_eq!(shown.iter().map(GroupDiscovery::name).collect::<Vec<_>>(), ["a"]);
    }
}
