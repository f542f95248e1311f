//! Groups that other servers of the cluster serve, merged with this server's own.
//!
//! The result is the same on every server, as the groups are merged in the order of the servers' identities.
//!
//! Kubernetes concept: `peerAggregatedDiscoveryHandler` of `k8s.io/apiserver/pkg/endpoints/discovery/aggregated`.

use std::collections::{BTreeMap, BTreeSet};

use super::described::{GroupDiscovery, ResourceDiscovery, SubresourceDiscovery, VersionDiscovery};

/// The groups that the other servers of the cluster serve.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PeerGroups {
    /// The identity of this server.
    pub(crate) own: String,
    /// By the identities of the servers.
    pub(crate) others: BTreeMap<String, Vec<GroupDiscovery>>,
}

/// Publishes the groups of other servers, beside those of this one.
pub(crate) trait PublishPeers: Send + Sync + 'static {
    /// Replaces the groups of all other servers.
    fn publish_peers(&self, groups: PeerGroups);

    /// Whether this server serves a resource itself, or forwards requests for it to an extension server.
    fn serves(&self, group: &str, version: &str, resource: &str) -> bool;
}

/// A description that is merged with others of its name.
trait Merge: Clone + PartialEq {
    /// Returns the name.
    fn name(&self) -> &str;

    /// Adds what another server says of it.
    fn merge(&mut self, other: &Self);
}

// === impl PeerGroups ===

impl PeerGroups {
    /// Returns the groups of all servers; `local` are those of this one.
    pub(super) fn merged(&self, local: &[GroupDiscovery]) -> Vec<GroupDiscovery> {
        let others = self.others.iter().map(|(server, groups)| (server.as_str(), groups.as_slice()));
        let mut lists: Vec<_> = others.chain([(self.own.as_str(), local)]).collect();
        lists.sort_by_key(|(server, _)| *server);
        let lists: Vec<_> = lists.into_iter().map(|(_, groups)| groups).collect();
        merged(&lists)
    }
}

impl Merge for GroupDiscovery {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn merge(&mut self, other: &Self) {
        self.versions = merged(&[&self.versions, &other.versions]);
    }
}

impl Merge for VersionDiscovery {
    fn name(&self) -> &str {
        &self.version
    }

    fn merge(&mut self, other: &Self) {
        self.resources = merged(&[&self.resources, &other.resources]);
    }
}

impl Merge for ResourceDiscovery {
    fn name(&self) -> &str {
        &self.resource
    }

    /// Adds the verbs and the subresources.
    fn merge(&mut self, other: &Self) {
        let verbs: BTreeSet<&String> = self.verbs.iter().chain(&other.verbs).collect();
        self.verbs = verbs.into_iter().cloned().collect();
        let subresources = self.subresources.iter().chain(&other.subresources);
        let subresources: BTreeMap<&str, &SubresourceDiscovery> =
            subresources.map(|subresource| (subresource.subresource.as_str(), subresource)).collect();
        self.subresources = subresources.into_values().cloned().collect();
    }
}

/// Returns the elements of all lists, in an order that is that of every list. Those with the same name are merged, unless they
/// are equal.
fn merged<T: Merge>(lists: &[&[T]]) -> Vec<T> {
    let mut by_name = BTreeMap::<&str, T>::new();
    for element in lists.iter().copied().flatten() {
        match by_name.get_mut(element.name()) {
            Some(present) if present == element => {}
            Some(present) => present.merge(element),
            None => drop(by_name.insert(element.name(), element.clone())),
        }
    }
    let names: Vec<Vec<&str>> = lists.iter().map(|list| list.iter().map(T::name).collect()).collect();
    merged_order(&names).into_iter().filter_map(|name| by_name.remove(name)).collect()
}

/// Returns the names of all lists, in an order that is that of every list; names without an order among each other follow
/// the alphabet, as all do if the lists contradict each other. A list with all names decides alone.
///
/// Kubernetes concept: `MergePreservingRelativeOrder` of `k8s.io/apimachinery/pkg/util/sort`.
fn merged_order<'n>(lists: &[Vec<&'n str>]) -> Vec<&'n str> {
    let all: BTreeSet<&str> = lists.iter().flatten().copied().collect();
    let has_all = |list: &&Vec<&str>| {
        list.len() == all.len() && list.iter().collect::<BTreeSet<_>>().len() == all.len()
    };
    if let Some(complete) = lists.iter().find(has_all) {
        return complete.clone();
    }
    let mut followers = BTreeMap::<&str, BTreeSet<&str>>::new();
    let mut predecessors = BTreeMap::<&str, usize>::new();
    for pair in lists.iter().flat_map(|list| list.windows(2)) {
        if let [first, second] = pair
            && followers.entry(*first).or_default().insert(*second)
        {
            *predecessors.entry(*second).or_default() += 1;
        }
    }
    let mut next: BTreeSet<&str> =
        all.iter().copied().filter(|name| !predecessors.contains_key(name)).collect();
    let mut order = Vec::with_capacity(all.len());
    while let Some(name) = next.pop_first() {
        order.push(name);
        for follower in followers.get(name).into_iter().flatten() {
            let Some(left) = predecessors.get_mut(follower) else { continue };
            *left -= 1;
            if *left == 0 {
                next.insert(*follower);
            }
        }
    }
    if order.len() == all.len() { order } else { all.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::super::described::{Freshness, KindDiscovery};
    use super::*;

    #[test]
    fn names_keep_the_order_of_every_list() {
        for (lists, expected) in [
            (&[&["a", "b", "c"][..], &["b", "c"]][..], &["a", "b", "c"][..]),
            (&[&["a", "c"], &["b", "c"]], &["a", "b", "c"]),
            (&[&["z", "b"], &["z", "a"]], &["z", "a", "b"]),
            (&[&["b", "a"], &["a", "b"]], &["b", "a"]),
            (&[&["b", "a", "c"], &["a", "b", "d"]], &["a", "b", "c", "d"]),
            (&[&[], &["a", "a"]], &["a"]),
            (&[], &[]),
        ] {
            let lists: Vec<Vec<&str>> = lists.iter().map(|list| list.to_vec()).collect();
            assert_eq!(merged_order(&lists), expected, "{lists:?}");
        }
    }

    #[test]
    fn groups_versions_resources_and_verbs_of_all_servers_are_merged() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let version = |name: &str, resources: &[ResourceDiscovery]| VersionDiscovery {
            version: name.to_owned(),
            freshness: Freshness::Current,
            resources: resources.to_vec(),
        };
        let status = SubresourceDiscovery {
            subresource: "status".to_owned(),
            response_kind: KindDiscovery::default(),
            verbs: texts(&["get"]),
        };
        let jobs = |verbs: &[&str], subresources: &[SubresourceDiscovery]| ResourceDiscovery {
            resource: "jobs".to_owned(),
            response_kind: KindDiscovery::default(),
            scope: ResourceDiscovery::scope(true),
            singular_resource: "job".to_owned(),
            verbs: texts(verbs),
            short_names: Vec::new(),
            categories: Vec::new(),
            subresources: subresources.to_vec(),
        };
        let v1 = |resource: ResourceDiscovery| version("v1", &[resource]);
        let local = [
            GroupDiscovery::new("apps", vec![version("v1", &[])]),
            GroupDiscovery::new("batch", vec![v1(jobs(&["list", "get"], &[]))]),
        ];
        let other = [
            GroupDiscovery::new(
                "batch",
                vec![version("v2", &[]), v1(jobs(&["watch", "get"], std::slice::from_ref(&status)))],
            ),
            GroupDiscovery::new("new", vec![version("v1", &[])]),
        ];
        let peers = |own: &str, groups: &[GroupDiscovery]| PeerGroups {
            own: own.to_owned(),
            others: BTreeMap::from([(if own == "a" { "b" } else { "a" }.to_owned(), groups.to_vec())]),
        };
        let merged = peers("a", &other).merged(&local);
        let names: Vec<&str> = merged.iter().map(GroupDiscovery::name).collect();
        assert_eq!(names, ["apps", "batch", "new"]);
        let both = jobs(&["get", "list", "watch"], &[status]);
        assert_eq!(merged[1].versions, [version("v2", &[]), v1(both)]);
        assert_eq!(peers("b", &local).merged(&other), merged, "the same on both servers");
        assert_eq!(peers("a", &[]).merged(&local), local);
        assert_eq!(peers("a", &local).merged(&local), local);
    }
}
