//! The resources of a group version, as an extension server describes them.
//!
//! Only the known fields are taken over, and only with values of their types: every client of discovery receives them.

use serde_json::{Map, Value, json};

use super::super::remote_service::RemoteService;

/// Returns the resources of a service's group version in an `APIGroupDiscoveryList`, none if the list does not have the group
/// version; `None` if it is another kind of list.
pub(super) fn aggregated_resources(list: &Value, service: &RemoteService) -> Option<Value> {
    if list.get("kind")? != "APIGroupDiscoveryList" {
        return None;
    }
    let mut groups = list.get("items")?.as_array()?.iter();
    let group =
        groups.find(|group| group.pointer("/metadata/name").and_then(Value::as_str) == Some(&service.group));
    let mut versions = group.and_then(|group| group.get("versions")?.as_array()).into_iter().flatten();
    let version =
        versions.find(|candidate| candidate.get("version").and_then(Value::as_str) == Some(&service.version));
    let resources = version.and_then(|version| version.get("resources")?.as_array()).into_iter().flatten();
    Some(resources.filter_map(resource).collect())
}

/// Returns a resource of `APIVersionDiscovery`; `None` if it has no name.
pub(in super::super) fn resource(found: &Value) -> Option<Value> {
    let mut entry = Map::new();
    entry.insert("resource".to_owned(), name(found, "resource")?.into());
    copy_kind(found, &mut entry);
    // A server may leave the scope out. Its answer stays as it is, as in Kubernetes.
    entry.insert("scope".to_owned(), text(found, "scope").into());
    entry.insert("singularResource".to_owned(), text(found, "singularResource").into());
    entry.insert("verbs".to_owned(), texts(found, "verbs").into());
    copy_lists(found, &mut entry);
    let subresources = found.get("subresources").and_then(Value::as_array).into_iter().flatten();
    let subresources: Vec<Value> = subresources.filter_map(subresource).collect();
    if !subresources.is_empty() {
        entry.insert("subresources".to_owned(), subresources.into());
    }
    Some(entry.into())
}

fn subresource(found: &Value) -> Option<Value> {
    let mut entry = Map::new();
    entry.insert("subresource".to_owned(), name(found, "subresource")?.into());
    copy_kind(found, &mut entry);
    entry.insert("verbs".to_owned(), texts(found, "verbs").into());
    Some(entry.into())
}

/// Returns the resources of an `APIResourceList` as `APIVersionDiscovery` has them.
///
/// Kubernetes concept: `convertAPIResources` of `k8s.io/apiserver/pkg/endpoints`.
pub(super) fn plain_resources(list: &Value) -> Option<Value> {
    let listed = list.get("resources")?.as_array()?;
    let mut resources: Vec<Map<String, Value>> = Vec::new();
    for found in listed {
        let Some(own) = name(found, "name").filter(|own| !own.contains('/')) else { continue };
        let is_namespaced = found.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
        let mut entry = Map::new();
        entry.insert("resource".to_owned(), own.into());
        entry.insert("responseKind".to_owned(), kind(found));
        entry.insert("scope".to_owned(), scope(is_namespaced).into());
        entry.insert("singularResource".to_owned(), text(found, "singularName").into());
        entry.insert("verbs".to_owned(), texts(found, "verbs").into());
        copy_lists(found, &mut entry);
        resources.push(entry);
    }
    let positions: std::collections::HashMap<String, usize> = (resources.iter().enumerate().rev())
        .filter_map(|(position, entry)| Some((entry.get("resource")?.as_str()?.to_owned(), position)))
        .collect();
    for found in listed {
        let Some((parent, subresource)) = name(found, "name").and_then(|own| own.split_once('/')) else {
            continue;
        };
        let parent = positions.get(parent).and_then(|position| resources.get_mut(*position));
        let Some(parent) = parent else { continue };
        let entry = json!({
            "subresource": subresource, "responseKind": kind(found), "verbs": texts(found, "verbs"),
        });
        let others = parent.entry("subresources").or_insert_with(|| json!([]));
        if let Some(others) = others.as_array_mut() {
            others.push(entry);
        }
    }
    Some(resources.into_iter().map(Value::Object).collect())
}

fn scope(is_namespaced: bool) -> &'static str {
    if is_namespaced { "Namespaced" } else { "Cluster" }
}

/// Copies the kind that a path responds with. It is an empty one if there is none, as some clients expect a kind.
fn copy_kind(found: &Value, entry: &mut Map<String, Value>) {
    entry.insert("responseKind".to_owned(), kind(found.get("responseKind").unwrap_or(&Value::Null)));
}

fn copy_lists(found: &Value, entry: &mut Map<String, Value>) {
    for field in ["shortNames", "categories"] {
        let texts = texts(found, field);
        if !texts.is_empty() {
            entry.insert(field.to_owned(), texts.into());
        }
    }
}

fn kind(found: &Value) -> Value {
    json!({ "group": text(found, "group"), "version": text(found, "version"), "kind": text(found, "kind") })
}

/// Returns a text that is not empty.
fn name<'v>(found: &'v Value, field: &str) -> Option<&'v str> {
    Some(text(found, field)).filter(|name| !name.is_empty())
}

fn text<'v>(found: &'v Value, field: &str) -> &'v str {
    found.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'v>(found: &'v Value, field: &str) -> Vec<&'v str> {
    let elements = found.get(field).and_then(Value::as_array).into_iter().flatten();
    elements.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_list_becomes_the_aggregated_form() {
        let list = json!({
            "kind": "APIResourceList", "groupVersion": "g.example.com/v1",
            "resources": [
                { "name": "animals", "singularName": "animal", "namespaced": true, "kind": "Animal", "verbs": ["get"],
                  "shortNames": ["an"] },
                { "name": "animals/status", "singularName": "", "namespaced": true, "kind": "Animal", "verbs": ["update"] },
                { "name": "orphans/status", "kind": "Orphan", "verbs": ["get"] },
            ],
        });
        let kind = json!({ "group": "", "version": "", "kind": "Animal" });
        let expected = json!([{
            "resource": "animals", "responseKind": kind, "scope": "Namespaced", "singularResource": "animal",
            "verbs": ["get"], "shortNames": ["an"],
            "subresources": [{ "subresource": "status", "responseKind": kind, "verbs": ["update"] }],
        }]);
        assert_eq!(plain_resources(&list), Some(expected));
        assert_eq!(plain_resources(&json!({ "kind": "Status" })), None);
    }

    #[test]
    fn malformed_resources_are_left_out() {
        let list = json!({ "resources": [7, { "name": 7 }, { "name": "" }, { "name": "x", "verbs": ["get", 7, {}] }] });
        let resources = plain_resources(&list).unwrap();
        assert_eq!(resources.as_array().unwrap().len(), 1);
        assert_eq!((&resources[0]["resource"], &resources[0]["verbs"]), (&json!("x"), &json!(["get"])));
        let lying = json!({ "resource": "x", "verbs": "get", "more": { "a": "b" }, "subresources": [{ "subresource": 1 }] });
        let kind = json!({ "group": "", "version": "", "kind": "" });
        let taken = json!({
            "resource": "x", "responseKind": kind, "scope": "", "singularResource": "", "verbs": [],
        });
        assert_eq!(resource(&lying), Some(taken));
    }
}
