//! The groups of another server of the cluster, as its documents of discovery say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::documents::resources::resource;

/// The groups of another server.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Described {
    /// The resources, by group version (`apps/v1`; `/v1` in the core group).
    pub(super) resources: BTreeMap<String, BTreeSet<String>>,
    /// The groups but the core group, as in `APIGroupDiscoveryList`.
    pub(super) groups: Vec<Value>,
}

// === impl Described ===

impl Described {
    /// Adds the groups of an `APIGroupDiscoveryList`; `None` if it is something else. Only the known fields are taken over.
    pub(super) fn add(&mut self, list: &Value) -> Option<()> {
        if list.get("kind")? != "APIGroupDiscoveryList" {
            return None;
        }
        for group in list.get("items").and_then(Value::as_array).into_iter().flatten() {
            let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let versions = group.get("versions").and_then(Value::as_array).into_iter().flatten();
            let versions: Vec<Value> = versions.filter_map(|version| self.version(name, version)).collect();
            // The core group is not in `/apis`.
            if !name.is_empty() && !versions.is_empty() {
                self.groups.push(json!({ "metadata": { "name": name }, "versions": versions }));
            }
        }
        Some(())
    }

    /// Adds the resources of a version, and returns the version.
    fn version(&mut self, group: &str, version: &Value) -> Option<Value> {
        let name = version.get("version")?.as_str().filter(|name| !name.is_empty())?;
        let resources = version.get("resources").and_then(Value::as_array).into_iter().flatten();
        let resources: Vec<Value> = resources.filter_map(resource).collect();
        let names = resources.iter().filter_map(|resource| resource.get("resource")?.as_str());
        let known = self.resources.entry(format!("{group}/{name}")).or_default();
        known.extend(names.map(str::to_owned));
        Some(json!({ "version": name, "freshness": "Current", "resources": resources }))
    }

    /// Removes group versions; returns whether there was one.
    pub(super) fn remove(&mut self, versions: &BTreeSet<String>) -> bool {
        let before = self.resources.len();
        self.resources.retain(|version, _| !versions.contains(version));
        if self.resources.len() == before {
            return false;
        }
        for group in &mut self.groups {
            let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let Some(kept) = group.get_mut("versions").and_then(Value::as_array_mut) else { continue };
            kept.retain(|version| {
                let version = version.get("version").and_then(Value::as_str).unwrap_or_default();
                !versions.contains(&format!("{name}/{version}"))
            });
        }
        let has_versions = |group: &Value| {
            group.get("versions").and_then(Value::as_array).is_some_and(|versions| !versions.is_empty())
        };
        self.groups.retain(has_versions);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &Value) -> Value {
        json!({ "kind": "APIGroupDiscoveryList", "items": items })
    }

    #[test]
    fn malformed_parts_are_left_out() {
        let mut described = Described::default();
        for other in [json!({}), json!(7), json!({ "kind": "APIGroupList" }), json!({ "kind": ["x"] })] {
            assert_eq!(described.add(&other), None, "{other}");
        }
        let items = json!([
            7,
            { "metadata": 7, "versions": "v1" },
            { "metadata": { "name": "a" }, "versions": [7, { "version": 7 }, { "version": "" }] },
            { "metadata": { "name": "b" }, "versions": [
                { "version": "v1", "resources": [7, { "resource": "" }, { "resource": "xs", "more": { "a": 1 } }] },
            ] },
            { "metadata": {}, "versions": [{ "version": "v1", "resources": [{ "resource": "ys" }] }] },
        ]);
        assert_eq!(described.add(&list(&items)), Some(()));
        let names: Vec<(&str, Vec<&str>)> = (described.resources.iter())
            .map(|(version, names)| (version.as_str(), names.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(names, [("/v1", vec!["ys"]), ("b/v1", vec!["xs"])]);
        assert_eq!(described.groups.len(), 1);
        assert!(!described.groups[0].to_string().contains("more"), "{:?}", described.groups);
    }

    #[test]
    fn group_versions_are_removed_wherever_they_are() {
        let version = |name: &str| json!({ "version": name, "resources": [{ "resource": "xs" }] });
        let items = json!([
            { "metadata": { "name": "a" }, "versions": [version("v1"), version("v2")] },
            { "metadata": { "name": "b" }, "versions": [version("v1")] },
        ]);
        let mut described = Described::default();
        described.add(&list(&items)).unwrap();
        assert!(!described.remove(&BTreeSet::from(["c/v1".to_owned()])));
        assert!(described.remove(&BTreeSet::from(["a/v1".to_owned(), "b/v1".to_owned()])));
        assert_eq!(described.resources.keys().collect::<Vec<_>>(), ["a/v2"]);
        assert_eq!(described.groups.len(), 1);
        assert_eq!(described.groups[0]["versions"].as_array().unwrap().len(), 1);
    }
}
