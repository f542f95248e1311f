//! `LimitRanger`: enforces the limit ranges of a namespace on pods and claims, and sets their default requests and
//! limits.

mod bounds;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::go_text::aggregate;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::core::v1::{Container, LimitRangeItem, PersistentVolumeClaim, Pod};
use resource_views::slot::Fields;
use resource_views::{Map, Quantity, Typed as _};
use serde_json::{Value, json};

use crate::admission::refusal::forbidden;
use crate::api::core::limitranges::LimitRanges;
use crate::api::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::api::core::pod_spec::totals;
use crate::api::core::pods::Pods;
use crate::support::lookup::{Decoded, Lookup};

/// Lists the values that the plug-in set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The plug-in.
pub(super) struct LimitRanger {
    /// The limits of each range.
    ranges: Decoded<Vec<Value>>,
}

declare! { LimitRanger: "LimitRanger", informed by ranges }

impl LimitRanger {
    /// Creates the plug-in over the installed limit ranges; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let ranges = Lookup::for_resource::<LimitRanges>(installed)?;
        Some(Self { ranges: Decoded::new(ranges, limits_of) })
    }
}

fn limits_of(mut range: Object) -> Vec<Value> {
    match range.remove(&["spec", "limits"]) {
        Some(Value::Array(limits)) => limits,
        _ => Vec::new(),
    }
}

#[async_trait]
impl MutatingAdmission for LimitRanger {
    async fn admit(&self, context: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object else { return Ok(()) };
        if !is_pod(write.attributes) || is_going(write.old) {
            return Ok(());
        }
        for limits in self.ranges.all_in(&context.namespace).await? {
            fill_in(pod, &limits);
        }
        Ok(())
    }
}

#[async_trait]
impl ValidatingAdmission for LimitRanger {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(new) = write.object else { return Ok(()) };
        let is_pod = is_pod(write.attributes);
        let is_claim = write.attributes.are_of::<PersistentVolumeClaims>(Operation::WRITES);
        if !is_pod && !is_claim || is_going(write.old) {
            return Ok(());
        }
        for limits in self.ranges.all_in(&context.namespace).await? {
            let complaints =
                if is_pod { pod_violations(new, &limits) } else { claim_violations(new, &limits) };
            if let Some(why) = as_text(complaints) {
                return Err(forbidden(write.attributes, write.object, why));
            }
        }
        Ok(())
    }
}

/// Whether a pod is created or resized: other updates do not change its resources.
fn is_pod(attributes: &Attributes<'_>) -> bool {
    let is_resize = attributes.subresource == "resize"
        && attributes.operation == Operation::Update
        && attributes.resource.group_resource() == Pods::TYPE.group_resource();
    is_resize || attributes.are_of::<Pods>(&[Operation::Create])
}

/// Whether an object that is updated is being deleted: it must be possible to remove its finalizers.
fn is_going(old: Option<&Object>) -> bool {
    old.is_some_and(|old| old.deletion_timestamp().is_some())
}

/// Returns what in a pod is out of the bounds of a range.
fn pod_violations(pod: &Object, limits: &[Value]) -> Vec<String> {
    let mut complaints = Vec::new();
    for limit in items(limits) {
        match limit.r#type().text() {
            "Container" => check_containers(pod, &limit, &mut complaints),
            "Pod" => {
                let requests = totals::without_overhead(pod, "requests");
                let limits = totals::without_overhead(pod, "limits");
                bounds::check(&limit, &requests, &limits, &mut complaints);
            }
            _ => {}
        }
    }
    complaints
}

/// Returns what in a claim is out of the bounds of a range.
fn claim_violations(claim: &Object, limits: &[Value]) -> Vec<String> {
    let mut complaints = Vec::new();
    let requests = totals::read(PersistentVolumeClaim(claim).spec().resources().requests().value());
    for limit in items(limits).filter(|limit| limit.r#type().text() == "PersistentVolumeClaim") {
        bounds::check_requests(&limit, &requests, &mut complaints);
    }
    complaints
}

/// Returns complaints as one text, each once; `None` if there are none.
fn as_text(complaints: Vec<String>) -> Option<String> {
    (!complaints.is_empty()).then(|| aggregate(complaints))
}

/// Returns the limits of a range.
fn items(limits: &[Value]) -> impl Iterator<Item = LimitRangeItem<'_, '_>> {
    limits.iter().map(LimitRangeItem::from_value)
}

fn check_containers(pod: &Object, limit: &LimitRangeItem<'_, '_>, complaints: &mut Vec<String>) {
    let spec = Pod(pod).spec();
    for list in [spec.containers(), spec.init_containers()] {
        for container in list.elements() {
            let resources = container.resources();
            let requests = totals::read(resources.requests().value());
            let limits = totals::read(resources.limits().value());
            bounds::check(limit, &requests, &limits, complaints);
        }
    }
}

/// Sets the default requests and limits of a pod's containers, and lists them in an annotation.
fn fill_in(pod: &mut Object, limits: &[Value]) {
    let entries = |amounts: Map<Quantity<'_, '_>>| amounts.value().and_then(Value::as_object).cloned();
    let (mut requests, mut most) = (Fields::new(), Fields::new());
    for limit in items(limits).filter(|limit| limit.r#type().text() == "Container") {
        requests.extend(entries(limit.default_request()).into_iter().flatten());
        most.extend(entries(limit.default()).into_iter().flatten());
    }
    let defaults = [("requests", requests), ("limits", most)];
    let mut applied = Vec::new();
    for (list, word) in [("containers", "container"), ("initContainers", "init container")] {
        let containers =
            pod.0.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = Container::from_value(container).name().text().to_owned();
            for (of, defaults) in &defaults {
                let set = fill_in_container(container, of, defaults);
                if !set.is_empty() {
                    let singular = of.trim_end_matches('s');
                    applied.push(format!("{} {singular} for {word} {name}", set.join(", ")));
                }
            }
        }
    }
    if !applied.is_empty() {
        let text = format!("LimitRanger plugin set: {}", applied.join("; "));
        pod.set(&["metadata", "annotations", ANNOTATION], text.into());
    }
}

/// Fills in `requests` or `limits` of a container; returns the resources that were set, sorted.
fn fill_in_container(container: &mut Value, of: &str, defaults: &Fields) -> Vec<String> {
    let present = container.pointer(&format!("/resources/{of}")).and_then(Value::as_object);
    let is_missing = |name: &String| present.is_none_or(|present| !present.contains_key(name));
    let mut missing: Vec<String> = defaults.keys().filter(|name| is_missing(name)).cloned().collect();
    missing.sort_unstable();
    let (false, Some(container)) = (missing.is_empty(), container.as_object_mut()) else { return Vec::new() };
    let resources = container.entry("resources").or_insert_with(|| json!({}));
    let amounts = resources.as_object_mut().map(|map| map.entry(of).or_insert_with(|| json!({})));
    let Some(Value::Object(amounts)) = amounts else { return Vec::new() };
    for name in &missing {
        amounts.insert(name.clone(), defaults.get(name).cloned().unwrap_or_default());
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_amounts_of_a_pod_are_filled_in_and_told() {
        let mut pod = Object::from_value(json!({"spec": {"containers": [
            {"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}}},
        ]}}))
        .unwrap();
        fill_in(
            &mut pod,
            &[
                json!({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}}),
                json!({"type": "Pod", "default": {"cpu": "7"}}),
                json!({"type": "Container", "defaultRequest": {"memory": "1Gi"}}),
            ],
        );
        let containers = pod.get(&["spec", "containers"]).unwrap();
        assert_eq!(
            containers[0]["resources"],
            json!({"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1"}})
        );
        assert_eq!(containers[1]["resources"]["limits"], json!({"cpu": "2"}));
        let applied = "LimitRanger plugin set: cpu, memory request for container a; cpu limit for container a; \
                    cpu, memory request for container b";
        assert_eq!(pod.get_str(&["metadata", "annotations", ANNOTATION]), Some(applied));
    }

    #[test]
    fn amounts_out_of_bounds_are_told_once() {
        let container = json!({"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}});
        let pod = Object::from_value(json!({"spec": {
            "containers": [container, container], "overhead": {"cpu": "5"},
        }}))
        .unwrap();
        let limits = [
            json!({"type": "Container", "max": {"cpu": "500m"}}),
            json!({"type": "Pod", "max": {"cpu": "2"}}),
        ];
        let text = as_text(pod_violations(&pod, &limits)).unwrap();
        assert_eq!(text, "maximum cpu usage per Container is 500m, but limit is 1");
        let limits =
            [json!({"type": "Pod", "max": {"cpu": "1"}}), json!({"type": "Pod", "min": {"memory": "1"}})];
        assert_eq!(
            as_text(pod_violations(&pod, &limits)).unwrap(),
            "[maximum cpu usage per Pod is 1, but limit is 2, minimum memory usage per Pod is 1.  No request is specified]"
        );
    }
}
