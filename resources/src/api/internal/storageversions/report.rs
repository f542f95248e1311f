//! The part of a server in StorageVersions.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storageversion`.

use std::collections::BTreeMap;

use registry_core::api::{GroupResource, GroupVersionResource, Object, time};
use registry_core::registry::{InstalledApi, InstalledPath};
use resource_views::Typed as _;
use resource_views::apiserverinternal::v1alpha1::{StorageVersion, StorageVersionCondition};
use serde_json::{Value, json};

/// The type of the condition that is true while all servers encode alike.
const EQUAL: &str = "AllEncodingVersionsEqual";
/// The name of the core group in names of StorageVersions, which have none without a group.
const CORE: &str = "core";

/// The versions in which a server stores, reads and serves the objects of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The groups that serve these objects, with their names there, in the order of the groups. The first names the
    /// StorageVersion.
    pub(crate) resources: Vec<GroupResource>,
    /// The name of the StorageVersion.
    pub(crate) name: String,
    encoding: String,
    decodable: Vec<String>,
    served: Vec<String>,
}

// === impl Report ===

impl Report {
    /// Returns a report about each stored resource, in the order of their names.
    pub(crate) fn all(installed: &InstalledApi) -> Vec<Self> {
        let mut of_stores: BTreeMap<GroupVersionResource, Vec<&InstalledPath>> = BTreeMap::new();
        for path in installed.paths.iter().filter(|path| path.subresource.is_none()) {
            if let Some(store) = &path.store {
                of_stores.entry(store.resource().resource()).or_default().push(path);
            }
        }
        let mut reports: Vec<Self> = of_stores.values().filter_map(|paths| Self::about(paths)).collect();
        reports.sort_by_key(|report| report.resources.first().map(|first| (first.group, first.resource)));
        reports
    }

    /// Returns the report about the objects of one store, given the paths at which they are served.
    fn about(paths: &[&InstalledPath]) -> Option<Self> {
        let mut resources: Vec<GroupResource> =
            paths.iter().map(|path| path.resource.group_resource()).collect();
        resources.sort_unstable_by_key(|resource| (resource.group, resource.resource));
        resources.dedup();
        let first = *resources.first()?;
        let versions = paths.iter().find_map(|path| path.versions.as_ref())?;
        let stored = versions.stored().group_version();
        let mut decodable = versions.readable_in(stored.group);
        let mut served = Vec::new();
        for path in paths {
            let version = path.resource.group_version();
            let api_version = version.api_version();
            if version.group == first.group {
                served.push(api_version.clone());
            }
            if !decodable.contains(&api_version) {
                decodable.push(api_version);
            }
        }
        let group = if first.group.is_empty() { CORE } else { first.group };
        let name = format!("{group}.{}", first.resource);
        Some(Self { resources, name, encoding: stored.api_version(), decodable, served })
    }

    /// Returns a StorageVersion with this report of a server in place of the one that it has.
    pub(crate) fn apply(&self, server: &str, present: &Object) -> Object {
        let own = json!({
            "apiServerID": server,
            "encodingVersion": self.encoding,
            "decodableVersions": self.decodable,
            "servedVersions": self.served,
        });
        let status = StorageVersion(present).status();
        let mut all = status.storage_versions().values().to_vec();
        let is_own = |entry: &&mut Value| entry.get("apiServerID").and_then(Value::as_str) == Some(server);
        match all.iter_mut().find(is_own) {
            Some(entry) => *entry = own,
            None => all.push(own),
        }
        let common = common(&all).map(str::to_owned);
        let conditions = with_equality(present, common.as_deref());
        let mut next = present.clone();
        next.set(&["status", "storageVersions"], all.into());
        next.set(&["status", "conditions"], conditions.into());
        match common {
            Some(common) => next.set(&["status", "commonEncodingVersion"], common.into()),
            None => drop(next.remove(&["status", "commonEncodingVersion"])),
        }
        next
    }
}

/// Returns the version in which all servers encode, if there is one.
fn common(reports: &[Value]) -> Option<&str> {
    let mut encodings = reports.iter().map(|report| report.get("encodingVersion").and_then(Value::as_str));
    let first = encodings.next().flatten()?;
    encodings.all(|other| other == Some(first)).then_some(first)
}

/// Returns the conditions of a StorageVersion, of which one says whether there is a common version. The time of the last
/// transition is kept unless the status or the common version changes.
fn with_equality(present: &Object, common: Option<&str>) -> Vec<Value> {
    let status = StorageVersion(present).status();
    let is_equality = |entry: &Value| StorageVersionCondition::from_value(entry).r#type().text() == EQUAL;
    let (equal, reason, message) = match common {
        Some(_) => ("True", "CommonEncodingVersionSet", "Common encoding version set"),
        None => ("False", "CommonEncodingVersionUnset", "Common encoding version unset"),
    };
    let mut conditions = status.conditions().values().to_vec();
    let before = conditions.iter().find(|entry| is_equality(entry)).map(StorageVersionCondition::from_value);
    let common_before = status.common_encoding_version().optional_text();
    let has_moved = common.is_some() && common_before.is_some() && common_before != common;
    let same = before.filter(|before| before.status().text() == equal && !has_moved);
    let since = same.and_then(|before| before.last_transition_time().value().cloned());
    let mut condition = json!({
        "type": EQUAL,
        "status": equal,
        "lastTransitionTime": since.unwrap_or_else(|| time::now().into()),
        "reason": reason,
        "message": message,
    });
    if let (Some(condition), true) = (condition.as_object_mut(), present.generation() != 0) {
        condition.insert("observedGeneration".to_owned(), present.generation().into());
    }
    match conditions.iter_mut().find(|entry| is_equality(entry)) {
        Some(entry) => *entry = condition,
        None => conditions.push(condition),
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "2020-01-01T00:00:00Z";

    fn report(encoding: &str) -> Report {
        Report {
            resources: vec![GroupResource { group: "", resource: "pods" }],
            name: "core.pods".to_owned(),
            encoding: encoding.to_owned(),
            decodable: vec![encoding.to_owned()],
            served: vec![encoding.to_owned()],
        }
    }

    /// Returns the servers with their versions, the common version, the condition, and whether its time is that of before.
    fn summary(object: &Object) -> (Value, Value, Value, bool) {
        let status = object.get(&["status"]).cloned().unwrap();
        let servers = status["storageVersions"].as_array().unwrap().iter();
        let servers =
            servers.map(|server| json!([server["apiServerID"], server["encodingVersion"]])).collect();
        let [condition] = &status["conditions"].as_array().unwrap()[..] else { panic!("one condition") };
        let is_old = condition["lastTransitionTime"] == BEFORE;
        let said = json!([condition["status"], condition["reason"]]);
        (servers, status["commonEncodingVersion"].clone(), said, is_old)
    }

    /// Sets the time of the condition back.
    fn aged(mut object: Object) -> Object {
        let mut conditions = object.get(&["status", "conditions"]).cloned().unwrap();
        conditions[0]["lastTransitionTime"] = BEFORE.into();
        object.set(&["status", "conditions"], conditions);
        object
    }

    #[test]
    fn the_condition_says_whether_all_servers_encode_alike() {
        let equal = || json!(["True", "CommonEncodingVersionSet"]);
        let unequal = || json!(["False", "CommonEncodingVersionUnset"]);
        let first = aged(report("v1").apply("a", &Object::default()));
        assert_eq!(summary(&first), (json!([["a", "v1"]]), json!("v1"), equal(), true));
        assert_eq!(report("v1").apply("a", &first), first, "a report that changes nothing");

        let second = report("v1").apply("b", &first);
        assert_eq!(summary(&second), (json!([["a", "v1"], ["b", "v1"]]), json!("v1"), equal(), true));

        let other = aged(report("v2").apply("b", &second));
        assert_eq!(summary(&other), (json!([["a", "v1"], ["b", "v2"]]), Value::Null, unequal(), true));
        let same = report("v2").apply("a", &other);
        assert_eq!(summary(&same), (json!([["a", "v2"], ["b", "v2"]]), json!("v2"), equal(), false));

        // One common version after the other is a transition too.
        let next = report("v2").apply("a", &first);
        assert_eq!(summary(&next), (json!([["a", "v2"]]), json!("v2"), equal(), false));
    }

    #[test]
    fn a_report_keeps_the_entries_and_conditions_of_others() {
        let foreign = json!({ "metadata": { "generation": 3 }, "status": {
            "storageVersions": [{ "apiServerID": "x" }, 7, { "apiServerID": 1, "encodingVersion": "v1" }],
            "conditions": [{ "type": "Other", "status": "Unknown" }, 8],
        }});
        let reported = report("v1").apply("a", &Object::from_value(foreign).unwrap());
        let status = reported.get(&["status"]).unwrap();
        let servers = status["storageVersions"].as_array().unwrap();
        assert_eq!((servers.len(), &servers[0]["apiServerID"]), (4, &json!("x")));
        let conditions = status["conditions"].as_array().unwrap();
        assert_eq!((conditions.len(), &conditions[0]["type"]), (3, &json!("Other")));
        assert_eq!(
            (&conditions[2]["status"], &conditions[2]["observedGeneration"]),
            (&json!("False"), &json!(3))
        );
        assert_eq!(status.get("commonEncodingVersion"), None);
    }

    #[tokio::test]
    async fn each_resource_has_one_report() {
        let reports = Report::all(&crate::testing::installed(&["events", "deployments", "leases"]));
        let names: Vec<&str> = reports.iter().map(|report| report.name.as_str()).collect();
        assert_eq!(names, ["core.events", "apps.deployments", "coordination.k8s.io.leases"]);
        let [events, deployments, leases] = &reports[..] else { panic!("three") };
        let groups: Vec<&str> = events.resources.iter().map(|resource| resource.group).collect();
        assert_eq!(groups, ["", "events.k8s.io"]);
        assert_eq!(
            (events.encoding.as_str(), &events.decodable, &events.served),
            ("v1", &vec!["v1".to_owned(), "events.k8s.io/v1".to_owned()], &vec!["v1".to_owned()])
        );
        assert_eq!(deployments.decodable, ["apps/v1", "apps/v1beta2", "apps/v1beta1"]);
        assert_eq!(leases.decodable, ["coordination.k8s.io/v1", "coordination.k8s.io/v1beta1"]);
        assert_eq!(leases.served, ["coordination.k8s.io/v1"]);
    }
}
