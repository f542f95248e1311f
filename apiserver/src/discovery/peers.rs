//! Groups that other servers of the cluster serve, merged with this server's own.
//!
//! The result is the same on every server, as the groups are merged in the order of the servers' identities.
//!
//! Kubernetes concept: `peerAggregatedDiscoveryHandler` of `k8s.io/apiserver/pkg/endpoints/discovery/aggregated`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The groups that the other servers of the cluster serve, as in `APIGroupDiscoveryList`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PeerGroups {
    /// The identity of this server.
    pub(crate) own: String,
    /// By the identities of the servers.
    pub(crate) others: BTreeMap<String, Vec<Value>>,
}

/// Publishes the groups of other servers, beside those of this one.
pub(crate) trait PublishPeers: Send + Sync + 'static {
    /// Replaces the groups of all other servers.
    fn publish_peers(&self, groups: PeerGroups);

    /// Whether this server serves a resource itself, or forwards requests for it to an extension server.
    fn serves(&self, group: &str, version: &str, resource: &str) -> bool;
}

/// Merges two objects with the same name.
type Merge = fn(&Value, &Value) -> Value;

/// Returns the name of an object.
type Name = for<'v> fn(&'v Value) -> &'v str;

// === impl PeerGroups ===

impl PeerGroups {
    /// Returns the groups of all servers; `local` are those of this one.
    pub(super) fn merged(&self, local: &[Value]) -> Vec<Value> {
        let others = self.others.iter().map(|(server, groups)| (server.as_str(), groups.as_slice()));
        let mut lists: Vec<(&str, &[Value])> = others.chain([(self.own.as_str(), local)]).collect();
        lists.sort_by_key(|(server, _)| *server);
        let lists: Vec<&[Value]> = lists.into_iter().map(|(_, groups)| groups).collect();
        merged(&lists, group_name, |first, second| {
            with_merged(first, second, "versions", version_name, version)
        })
    }
}

fn group_name(group: &Value) -> &str {
    group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

fn version_name(version: &Value) -> &str {
    text(version, "version")
}

fn version(first: &Value, second: &Value) -> Value {
    with_merged(first, second, "resources", |resource| text(resource, "resource"), resource)
}

/// Returns a resource with the verbs and the subresources of both.
fn resource(first: &Value, second: &Value) -> Value {
    let both = |field: &'static str| elements(first, field).iter().chain(elements(second, field));
    let verbs: BTreeSet<&str> = both("verbs").filter_map(Value::as_str).collect();
    let subresources: BTreeMap<&str, &Value> =
        both("subresources").map(|subresource| (text(subresource, "subresource"), subresource)).collect();
    let mut merged = fields(first);
    merged.insert("verbs".to_owned(), verbs.into_iter().collect());
    if !subresources.is_empty() {
        merged.insert("subresources".to_owned(), subresources.into_values().cloned().collect());
    }
    Value::Object(merged)
}

/// Returns the first object with the merged elements of a list of both.
fn with_merged(first: &Value, second: &Value, field: &'static str, name: Name, merge: Merge) -> Value {
    let mut whole = fields(first);
    let elements = merged(&[elements(first, field), elements(second, field)], name, merge);
    whole.insert(field.to_owned(), elements.into());
    Value::Object(whole)
}

fn fields(object: &Value) -> Map<String, Value> {
    object.as_object().cloned().unwrap_or_default()
}

fn elements<'v>(object: &'v Value, field: &str) -> &'v [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the objects of all lists, in an order that is that of every list. Those with the same name are merged, unless they
/// are equal.
fn merged(lists: &[&[Value]], name: Name, merge: Merge) -> Vec<Value> {
    let mut by_name = BTreeMap::<&str, Value>::new();
    for object in lists.iter().copied().flatten() {
        match by_name.get_mut(name(object)) {
            Some(present) if present == object => {}
            Some(present) => *present = merge(present, object),
            None => drop(by_name.insert(name(object), object.clone())),
        }
    }
    let names: Vec<Vec<&str>> = lists.iter().map(|list| list.iter().map(name).collect()).collect();
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
    use serde_json::json;

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
        let group =
            |name: &str, versions: Value| json!({ "metadata": { "name": name }, "versions": versions });
        let version = |name: &str, resources: Value| json!({ "version": name, "resources": resources });
        let jobs = |verbs: Value| json!({ "resource": "jobs", "scope": "Namespaced", "verbs": verbs });
        let status = json!({ "subresource": "status", "verbs": ["get"] });
        let mut other_jobs = jobs(json!(["watch", "get"]));
        other_jobs["subresources"] = json!([status]);
        let local = [
            group("apps", json!([version("v1", json!([]))])),
            group("batch", json!([version("v1", json!([jobs(json!(["list", "get"]))]))])),
        ];
        let other = vec![
            group("batch", json!([version("v2", json!([])), version("v1", json!([other_jobs]))])),
            group("new", json!([version("v1", json!([]))])),
        ];
        let peers = |own: &str, groups: &[Value]| PeerGroups {
            own: own.to_owned(),
            others: BTreeMap::from([(if own == "a" { "b" } else { "a" }.to_owned(), groups.to_vec())]),
        };
        let merged = peers("a", &other).merged(&local);
        let names: Vec<&str> = merged.iter().map(group_name).collect();
        assert_eq!(names, ["apps", "batch", "new"]);
        let mut both = jobs(json!(["get", "list", "watch"]));
        both["subresources"] = json!([status]);
        assert_eq!(merged[1]["versions"], json!([version("v2", json!([])), version("v1", json!([both]))]));
        assert_eq!(peers("b", &local).merged(&other), merged, "the same on both servers");
        assert_eq!(peers("a", &[]).merged(&local), local);
        assert_eq!(peers("a", &local).merged(&local), local);
    }
}
