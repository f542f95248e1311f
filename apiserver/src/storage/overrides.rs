//! Resources whose objects are in an etcd of their own (`--etcd-servers-overrides`).
//!
//! Kubernetes concept: `DefaultStorageFactory` in `k8s.io/apiserver/pkg/server/storage`. As there, an override of one
//! resource precedes one of its group (`group/*`), and both count only for resources that are compiled into the server.

use std::collections::HashMap;

use registry_core::api::GroupResource;
use registry_core::resource::ResourceDescription;

use crate::options::{EtcdConnection, EtcdOverride, StorageChoice};

use super::{Engine, EngineError, EngineOpening};

/// The resource of an override that means all of its group.
const ALL_RESOURCES: &str = "*";
/// Groups of which Kubernetes serves the resources from servers of their own, which know no overrides.
const WITHOUT_OVERRIDES: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// The etcd clusters beside that of all other resources.
#[derive(Clone, Default)]
pub(crate) struct Overrides {
    clusters: Vec<Engine>,
    /// Positions in `clusters`, by resource.
    places: HashMap<GroupResource, usize>,
}

// === impl Overrides ===

impl Overrides {
    /// Connects to the clusters of the overrides; waits for them. Those with the same servers are one cluster. `declared`
    /// are the resources that are compiled into the server.
    pub(crate) async fn open(
        choice: &StorageChoice,
        declared: &[&'static ResourceDescription],
        opening: &EngineOpening<'_>,
    ) -> Result<Self, EngineError> {
        let StorageChoice::Etcd3(main) = choice else { return Ok(Self::default()) };
        let mut numbers: HashMap<Vec<&String>, usize> = HashMap::new();
        let mut clusters = Vec::new();
        let mut numbered = Vec::new();
        for given in &main.overrides {
            let mut servers: Vec<&String> = given.servers.iter().collect();
            servers.sort();
            let number = *numbers.entry(servers).or_insert(clusters.len());
            if number == clusters.len() {
                let servers = given.servers.clone();
                let connection = EtcdConnection { servers, overrides: Vec::new(), ..main.clone() };
                clusters.push(opening.open(StorageChoice::Etcd3(connection)).await?);
            }
            numbered.push((given, number));
        }
        Ok(Self { clusters, places: places(&numbered, declared) })
    }

    /// Returns the clusters.
    pub(super) fn clusters(&self) -> &[Engine] {
        &self.clusters
    }

    /// Returns the position of a resource's cluster in [`clusters`](Self::clusters).
    pub(super) fn cluster(&self, resource: GroupResource) -> Option<usize> {
        self.places.get(&resource).copied()
    }
}

/// Returns the clusters of resources, and reports overrides that have no effect.
fn places(
    numbered: &[(&EtcdOverride, usize)],
    declared: &[&'static ResourceDescription],
) -> HashMap<GroupResource, usize> {
    let stored = declared.iter().filter(|description| description.hub.is_none());
    let stored: Vec<GroupResource> = stored
        .map(|description| GroupResource { group: description.kind.group, resource: description.plural })
        .filter(|resource| !WITHOUT_OVERRIDES.contains(&resource.group))
        .collect();
    let mut places = HashMap::new();
    // The last override of a resource counts, as in Kubernetes.
    for is_exact in [false, true] {
        for (given, number) in numbered {
            let wanted = |resource: &&GroupResource| {
                resource.group == given.group
                    && if is_exact {
                        resource.resource == given.resource
                    } else {
                        given.resource == ALL_RESOURCES
                    }
            };
            places.extend(stored.iter().filter(wanted).map(|resource| (*resource, *number)));
        }
    }
    for (given, _) in numbered {
        let has_effect = stored.iter().any(|resource| {
            resource.group == given.group && [resource.resource, ALL_RESOURCES].contains(&&*given.resource)
        });
        if !has_effect {
            let named = format!("{}/{}", given.group, given.resource);
            tracing::warn!(
                resource = named,
                "--etcd-servers-overrides names no resource that this server stores"
            );
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(overrides: &[&str]) -> HashMap<GroupResource, usize> {
        let overrides: Vec<EtcdOverride> = overrides.iter().map(|text| text.parse().unwrap()).collect();
        let numbered: Vec<_> = overrides.iter().enumerate().map(|(number, given)| (given, number)).collect();
        let versions = resources::STORAGE_MAP.versions.iter();
        let declared: Vec<_> =
            versions.flat_map(|version| version.entries).map(|entry| entry.resource).collect();
        places(&numbered, &declared)
    }

    #[test]
    fn the_exact_override_precedes_that_of_the_group_and_the_last_counts() {
        let placed = placed(&[
            "apps/deployments#http://a:1",
            "apps/*#http://b:1",
            "/events#http://c:1",
            "/events#http://d:1",
            "events.k8s.io/events#http://e:1",
            "apiextensions.k8s.io/*#http://f:1",
            "zork.example.com/zorks#http://g:1",
        ]);
        let at = |group, resource| placed.get(&GroupResource { group, resource }).copied();
        assert_eq!(at("apps", "deployments"), Some(0));
        assert_eq!(at("apps", "daemonsets"), Some(1));
        assert_eq!(at("", "events"), Some(3));
        assert_eq!(at("", "pods"), None);
        for group in ["events.k8s.io", "apiextensions.k8s.io", "zork.example.com"] {
            assert!(placed.keys().all(|resource| resource.group != group), "{group}");
        }
    }
}
