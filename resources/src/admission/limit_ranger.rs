//! `LimitRanger`: enforces the limit ranges of a namespace on pods and claims, and sets their default requests and
//! limits.

mod bounds;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    AdmissionPlugin, Attributes, MutatingAdmission, Operation, ValidatingAdmission,
};
use registry_core::api::{Object, StatusError};
use registry_core::registry::{InformerTask, InstalledApi};
use registry_core::resource::Resource;
use serde_json::{Value, json};

use super::concerns;
use crate::core::limitranges::LimitRanges;
use crate::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::core::pod_spec::totals;
use crate::core::pods::Pods;
use crate::support::lookup::{Decoded, Lookup};

/// Lists the values that the plug-in set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The plug-in.
pub(super) struct LimitRanger {
    /// The limits of each range.
    ranges: Decoded<Vec<Value>>,
}

impl LimitRanger {
    /// Creates the plug-in over the installed limit ranges; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let ranges = Lookup::of::<LimitRanges>(installed)?;
        Some(Self { ranges: Decoded::new(ranges, limits_of) })
    }
}

fn limits_of(mut range: Object) -> Vec<Value> {
    match range.remove(&["spec", "limits"]) {
        Some(Value::Array(limits)) => limits,
        _ => Vec::new(),
    }
}

impl AdmissionPlugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn informers(&self) -> Vec<InformerTask> {
        self.ranges.informer().into_iter().collect()
    }
}

#[async_trait]
impl MutatingAdmission for LimitRanger {
    async fn admit(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(pod) = object else { return Ok(()) };
        if !concerns::<Pods>(attributes, &[Operation::Create]) {
            return Ok(());
        }
        let ranges = self.ranges.all_in(&context.namespace).await?;
        for limit in ranges.iter().flat_map(|limits| &**limits).filter(|limit| kind(limit) == "Container") {
            fill_in(pod, limit);
        }
        Ok(())
    }
}

#[async_trait]
impl ValidatingAdmission for LimitRanger {
    async fn validate(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(object) = object else { return Ok(()) };
        let is_pod = concerns::<Pods>(attributes, &[Operation::Create]);
        let is_claim =
            concerns::<PersistentVolumeClaims>(attributes, &[Operation::Create, Operation::Update]);
        if !is_pod && !is_claim || object.deletion_timestamp().is_some() {
            return Ok(());
        }
        let mut complaints = Vec::new();
        let ranges = self.ranges.all_in(&context.namespace).await?;
        for limit in ranges.iter().flat_map(|limits| &**limits) {
            match (kind(limit), is_pod) {
                ("Container", true) => check_containers(object, limit, &mut complaints),
                ("Pod", true) => {
                    let requests = totals::of_pod(object, "requests");
                    let limits = totals::of_pod(object, "limits");
                    bounds::check(limit, &requests, &limits, &mut complaints);
                }
                ("PersistentVolumeClaim", false) => {
                    let requests = totals::read(object.get(&["spec", "resources", "requests"]));
                    bounds::check_requests(limit, &requests, &mut complaints);
                }
                _ => {}
            }
        }
        let why = match complaints.as_slice() {
            [] => return Ok(()),
            [only] => only.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let resource =
            if is_pod { Pods::TYPE.group_resource() } else { PersistentVolumeClaims::TYPE.group_resource() };
        Err(StatusError::forbidden(resource, object.name(), why))
    }
}

fn kind(limit: &Value) -> &str {
    limit.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn check_containers(pod: &Object, limit: &Value, complaints: &mut Vec<String>) {
    for list in ["containers", "initContainers"] {
        for container in pod.get(&["spec", list]).and_then(Value::as_array).into_iter().flatten() {
            let amounts = |of: &str| totals::read(container.pointer(&format!("/resources/{of}")));
            bounds::check(limit, &amounts("requests"), &amounts("limits"), complaints);
        }
    }
}

/// Sets the default requests and limits of a pod's containers, and lists them in an annotation.
fn fill_in(pod: &mut Object, limit: &Value) {
    let mut applied = Vec::new();
    for (list, word) in [("containers", "container"), ("initContainers", "init container")] {
        let containers =
            pod.0.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            for (of, from) in [("requests", "defaultRequest"), ("limits", "default")] {
                let set = fill_in_container(container, of, limit.get(from));
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

/// Fills in `requests` or `limits` of a container; returns the resources that were set.
fn fill_in_container(container: &mut Value, of: &str, defaults: Option<&Value>) -> Vec<String> {
    let Some(defaults) = defaults.and_then(Value::as_object) else { return Vec::new() };
    let Some(container) = container.as_object_mut() else { return Vec::new() };
    let resources = container.entry("resources").or_insert_with(|| json!({}));
    let amounts = resources.as_object_mut().map(|map| map.entry(of).or_insert_with(|| json!({})));
    let Some(Value::Object(amounts)) = amounts else { return Vec::new() };
    let missing: Vec<_> = defaults.iter().filter(|(name, _)| !amounts.contains_key(*name)).collect();
    for (name, amount) in &missing {
        amounts.insert((*name).clone(), (*amount).clone());
    }
    missing.into_iter().map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pod_does_not_say_is_filled_in_and_told() {
        let mut pod = Object::from_value(json!({"spec": {"containers": [
            {"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}}},
        ]}}))
        .unwrap();
        fill_in(
            &mut pod,
            &json!({"default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m", "memory": "1Gi"}}),
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
}
