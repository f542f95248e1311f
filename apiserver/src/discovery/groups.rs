//! Installed resources, by group and version, in discovery order.

use std::cmp::Reverse;

use registry_core::api::GroupVersion;
use registry_core::registry::{InstalledApi, InstalledPath};

use crate::request_info;

/// A group with its versions, the preferred one first.
pub(super) struct Group<'a> {
    /// The group; empty for the core group.
    pub(super) name: &'static str,
    /// Its versions.
    pub(super) versions: Vec<Version<'a>>,
}

/// A version with its paths.
pub(super) struct Version<'a> {
    /// The group; empty for the core group.
    pub(super) group: &'static str,
    /// The version.
    pub(super) name: &'static str,
    /// Its paths, by resource and subresource.
    pub(super) paths: Vec<&'a InstalledPath>,
}

/// Returns everything that is installed, in discovery order.
pub(super) fn of(installed: &InstalledApi) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for path in &installed.paths {
        let gv = path.resource.group_version();
        let group = find_or_add(
            &mut groups,
            |group| group.name == gv.group,
            || Group { name: gv.group, versions: Vec::new() },
        );
        let version = find_or_add(
            &mut group.versions,
            |version| version.name == gv.version,
            || Version { group: gv.group, name: gv.version, paths: Vec::new() },
        );
        version.paths.push(path);
    }
    for group in &mut groups {
        group.versions.sort_by_key(|version| Reverse(maturity(version.name)));
        for version in &mut group.versions {
            version.paths.sort_by_key(|path| (path.resource.plural, path.subresource));
        }
    }
    // Kubernetes' own groups keep the order of their storage map; other groups follow by name.
    groups.sort_by_key(|group| if group.is_builtin() { "" } else { group.name });
    groups
}

fn find_or_add<T>(items: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = items.iter().position(is_it).unwrap_or(items.len());
    if at == items.len() {
        items.push(new());
    }
    #[expect(clippy::indexing_slicing, reason = "the position was found, or the item added, just above")]
    &mut items[at]
}

/// Returns the sort key of a version: stable before beta before alpha, then the higher number; others by
/// name.
fn maturity(version: &str) -> (u8, u32, u32, Reverse<&str>) {
    let other = (0, 0, 0, Reverse(version));
    let Some(rest) = version.strip_prefix('v') else { return other };
    let digits = rest.find(|one: char| !one.is_ascii_digit()).unwrap_or(rest.len());
    let (major, stage) = rest.split_at(digits);
    let Ok(major) = major.parse() else { return other };
    let (level, minor) = match stage {
        "" => (3, ""),
        _ => match (stage.strip_prefix("beta"), stage.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return other,
        },
    };
    let minor = if level == 3 { Ok(0) } else { minor.parse() };
    minor.map_or(other, |minor| (level, major, minor, Reverse("")))
}

// === impl Group ===

impl Group<'_> {
    fn is_builtin(&self) -> bool {
        self.versions.iter().flat_map(|version| &version.paths).any(|path| path.resource.is_builtin)
    }
}

// === impl Version ===

impl Version<'_> {
    /// Returns the version's path.
    pub(super) fn path(&self) -> String {
        request_info::root_of(self.id())
    }

    /// Returns the `groupVersion` of documents.
    pub(super) fn group_version(&self) -> String {
        self.id().api_version()
    }

    fn id(&self) -> GroupVersion {
        GroupVersion { group: self.group, version: self.name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions =
            ["v1alpha1", "foo10", "v2", "v1beta2", "v11alpha2", "v10", "v1", "foo1", "v1beta10"];
        versions.sort_by_key(|version| Reverse(maturity(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v1beta10", "v1beta2", "v11alpha2", "v1alpha1", "foo1", "foo10"]
        );
    }
}
