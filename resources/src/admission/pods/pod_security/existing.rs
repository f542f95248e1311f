//! Existing pods of a namespace that is about to enforce a stricter level.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use registry_core::api::Object;
use resource_views::core::v1::Pod;

use super::pod_violations;
use super::policy::LevelVersion;

/// Maximum number of pods that are checked.
const MAX_PODS: usize = 3000;
/// Maximum time for the checks.
pub(super) const TIME: Duration = Duration::from_secs(1);

/// Returns pods with those first that have no controller, or are the first one of theirs: the others are most likely the
/// same.
pub(super) fn prioritized(pods: Vec<&Object>) -> Vec<&Object> {
    let mut known = HashSet::new();
    let mut is_first = |pod: &&Object| {
        let metadata = Pod(pod).metadata();
        let owners = metadata.owner_references();
        let controller = owners.elements().find(|owner| owner.controller().is_true());
        controller.is_none_or(|owner| known.insert(owner.uid().text().to_owned()))
    };
    let (mut first, others): (Vec<_>, Vec<_>) = pods.into_iter().partition(|pod| is_first(pod));
    first.extend(others);
    first
}

/// Returns warnings about the pods that violate a level, as far as they are checked in time.
pub(super) fn warnings(
    namespace: &str,
    required: LevelVersion,
    pods: &[&Object],
    deadline: Instant,
) -> Vec<String> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut checked = 0;
    for pod in pods.iter().take(MAX_PODS) {
        let violations = pod_violations(pod, required);
        if !violations.is_empty() {
            found.entry(violations.reasons()).or_default().push(pod.name());
        }
        checked += 1;
        if Instant::now() > deadline {
            break;
        }
    }
    let mut warnings = Vec::new();
    if checked < pods.len() {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {checked} of {} existing pods",
            pods.len()
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{required}\""
        ));
    }
    let mut texts: Vec<String> = found.iter().map(|(reasons, names)| warning(reasons, names)).collect();
    texts.sort_unstable();
    warnings.extend(texts);
    warnings
}

fn warning(reasons: &str, names: &[&str]) -> String {
    let first = names.iter().min().copied().unwrap_or_default();
    match names.len() {
        1 => format!("{first}: {reasons}"),
        2 => format!("{first} (and 1 other pod): {reasons}"),
        count => format!("{first} (and {} other pods): {reasons}", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::policy::{Level, Version};
    use super::*;

    fn pod(name: &str, owner: Option<&str>, shares: bool) -> Object {
        let owners: Vec<Value> =
            owner.map(|uid| json!({"uid": uid, "controller": true})).into_iter().collect();
        let spec = json!({"hostPID": shares});
        Object::from_value(json!({"metadata": {"name": name, "ownerReferences": owners}, "spec": spec}))
            .unwrap()
    }

    #[test]
    fn pods_are_counted_by_what_they_violate() {
        let pods = [
            pod("c", Some("u"), true),
            pod("b", Some("u"), true),
            pod("d", Some("v"), false),
            pod("a", None, true),
        ];
        let sorted = prioritized(pods.iter().collect());
        assert_eq!(sorted.iter().map(|pod| pod.name()).collect::<Vec<_>>(), ["c", "d", "a", "b"]);
        let required = LevelVersion { level: Level::Baseline, version: Version::Latest };
        assert_eq!(
            warnings("n", required, &sorted, Instant::now() + TIME),
            [
                "existing pods in namespace \"n\" violate the new PodSecurity enforce level \"baseline:latest\"",
                "a (and 2 other pods): host namespaces",
            ]
        );
        let late = warnings("n", required, &sorted, Instant::now().checked_sub(TIME).unwrap());
        assert_eq!(
            late[0],
            "new PodSecurity enforce level only checked against the first 1 of 4 existing pods"
        );
    }
}
