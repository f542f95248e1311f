//! The descriptions of groups in the discovery documents of extension servers and of other servers of the cluster.
//!
//! Only the known fields are taken over, and only with values of their types: every client of discovery receives them. What
//! has no name is left out.

use std::collections::HashMap;

use serde_json::Value;

use crate::discovery::{
    Freshness, GroupDiscovery, KindDiscovery, ResourceDiscovery, SubresourceDiscovery, VersionDiscovery,
};

/// Returns the groups of an `APIGroupDiscoveryList` that have versions; `None` if it is something else.
pub(super) fn groups(list: &Value) -> Option<Vec<GroupDiscovery>> {
    if list.get("kind")? != "APIGroupDiscoveryList" {
        return None;
    }
    Some(elements(list, "items").filter_map(group).collect())
}

fn group(found: &Value) -> Option<GroupDiscovery> {
    // The core group has no name.
    let name = found.pointer("/metadata/name").map_or(Some(""), Value::as_str)?;
    let versions: Vec<VersionDiscovery> = elements(found, "versions").filter_map(version).collect();
    (!versions.is_empty()).then(|| GroupDiscovery::new(name, versions))
}

fn version(found: &Value) -> Option<VersionDiscovery> {
    Some(VersionDiscovery {
        version: name(found, "version")?.to_owned(),
        freshness: Freshness::Current,
        resources: elements(found, "resources").filter_map(resource).collect(),
    })
}

fn resource(found: &Value) -> Option<ResourceDiscovery> {
    Some(ResourceDiscovery {
        resource: name(found, "resource")?.to_owned(),
        response_kind: found.get("responseKind").map(kind).unwrap_or_default(),
        // A server may leave the scope out. Its answer stays as it is, as in Kubernetes.
        scope: text(found, "scope"),
        singular_resource: text(found, "singularResource"),
        verbs: texts(found, "verbs"),
        short_names: texts(found, "shortNames"),
        categories: texts(found, "categories"),
        subresources: elements(found, "subresources").filter_map(subresource).collect(),
    })
}

fn subresource(found: &Value) -> Option<SubresourceDiscovery> {
    Some(SubresourceDiscovery {
        subresource: name(found, "subresource")?.to_owned(),
        response_kind: found.get("responseKind").map(kind).unwrap_or_default(),
        verbs: texts(found, "verbs"),
    })
}

/// Returns the resources of an `APIResourceList`, which has subresources beside resources; `None` if it is something else.
///
/// Kubernetes concept: `convertAPIResources` of `k8s.io/apiserver/pkg/endpoints`.
pub(super) fn plain_resources(list: &Value) -> Option<Vec<ResourceDiscovery>> {
    let listed = list.get("resources")?.as_array()?;
    let named = || listed.iter().filter_map(|found| Some((name(found, "name")?, found)));
    let mut resources: Vec<ResourceDiscovery> = Vec::new();
    let mut positions = HashMap::new();
    for (own, found) in named().filter(|(own, _)| !own.contains('/')) {
        positions.entry(own).or_insert(resources.len());
        let is_namespaced = found.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
        resources.push(ResourceDiscovery {
            resource: own.to_owned(),
            response_kind: kind(found),
            scope: ResourceDiscovery::scope(is_namespaced),
            singular_resource: text(found, "singularName"),
            verbs: texts(found, "verbs"),
            short_names: texts(found, "shortNames"),
            categories: texts(found, "categories"),
            subresources: Vec::new(),
        });
    }
    for (own, found) in named() {
        let Some((parent, subresource)) = own.split_once('/') else { continue };
        let parent = positions.get(parent).and_then(|position| resources.get_mut(*position));
        let Some(parent) = parent else { continue };
        parent.subresources.push(SubresourceDiscovery {
            subresource: subresource.to_owned(),
            response_kind: kind(found),
            verbs: texts(found, "verbs"),
        });
    }
    Some(resources)
}

fn kind(found: &Value) -> KindDiscovery {
    KindDiscovery { group: text(found, "group"), version: text(found, "version"), kind: text(found, "kind") }
}

/// Returns a text that is not empty.
fn name<'v>(found: &'v Value, field: &str) -> Option<&'v str> {
    found.get(field)?.as_str().filter(|name| !name.is_empty())
}

/// Returns the text of an optional field; empty if there is none.
fn text(found: &Value, field: &str) -> String {
    found.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(found: &Value, field: &str) -> Vec<String> {
    elements(found, field).filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn elements<'v>(found: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    found.get(field).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the JSON that clients of discovery receive.
    fn shown(described: Option<impl serde::Serialize>) -> Value {
        serde_json::to_value(described).unwrap()
    }

    #[test]
    fn a_plain_list_becomes_the_aggregated_form() {
        let list = json!({
            "kind": "APIResourceList", "groupVersion": "g.example.com/v1",
            "resources": [
                { "name": "animals/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": [] },
                { "name": "animals", "singularName": "animal", "namespaced": true, "kind": "Animal", "verbs": ["get"],
                  "shortNames": ["an"] },
                { "name": "animals/status", "singularName": "", "namespaced": true, "kind": "Animal", "verbs": ["update"] },
                { "name": "orphans/status", "kind": "Orphan", "verbs": ["get"] },
            ],
        });
        let kind = json!({ "group": "", "version": "", "kind": "Animal" });
        let scale = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
        let expected = json!([{
            "resource": "animals", "responseKind": kind, "scope": "Namespaced", "singularResource": "animal",
            "verbs": ["get"], "shortNames": ["an"],
            "subresources": [
                { "subresource": "scale", "responseKind": scale, "verbs": [] },
                { "subresource": "status", "responseKind": kind, "verbs": ["update"] },
            ],
        }]);
        assert_eq!(shown(plain_resources(&list)), expected);
        assert_eq!(plain_resources(&json!({ "kind": "Status" })), None);
    }

    #[test]
    fn malformed_resources_are_left_out() {
        let list = json!({ "resources": [7, { "name": 7 }, { "name": "" }, { "name": "x", "verbs": ["get", 7, {}] }] });
        let resources = shown(plain_resources(&list));
        assert_eq!(resources.as_array().unwrap().len(), 1);
        assert_eq!((&resources[0]["resource"], &resources[0]["verbs"]), (&json!("x"), &json!(["get"])));
        let lying = json!({ "resource": "x", "verbs": "get", "more": { "a": "b" }, "subresources": [{ "subresource": 1 }] });
        let kind = json!({ "group": "", "version": "", "kind": "" });
        let taken = json!({
            "resource": "x", "responseKind": kind, "scope": "", "singularResource": "", "verbs": [],
        });
        assert_eq!(shown(resource(&lying)), taken);
    }

    #[test]
    fn malformed_groups_and_versions_are_left_out() {
        for other in [json!({}), json!(7), json!({ "kind": "APIGroupList" }), json!({ "kind": ["x"] })] {
            assert_eq!(groups(&other), None, "{other}");
        }
        let of_v1 = |resources: Value| json!([{ "version": "v1", "resources": resources }]);
        let items = json!([
            7,
            { "metadata": 7, "versions": "v1" },
            { "metadata": { "name": 7 }, "versions": of_v1(json!([])) },
            { "metadata": { "name": "a" }, "versions": [7, { "version": 7 }, { "version": "" }] },
            { "metadata": { "name": "b" }, "versions": of_v1(json!([7, { "resource": "" }, { "resource": "xs" }])) },
            { "metadata": {}, "versions": of_v1(json!([{ "resource": "ys" }])) },
        ]);
        let groups = groups(&json!({ "kind": "APIGroupDiscoveryList", "items": items })).unwrap();
        let names: Vec<_> = (groups.iter())
            .flat_map(|group| group.versions.iter().map(move |version| (group.name(), version)))
            .flat_map(|(group, version)| version.resources.iter().map(move |it| (group, &*it.resource)))
            .collect();
        assert_eq!(names, [("b", "xs"), ("", "ys")]);
        assert_eq!(groups.len(), 2);
    }
}
