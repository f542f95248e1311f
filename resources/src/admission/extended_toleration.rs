//! `ExtendedResourceToleration`: a pod that requests an extended resource tolerates the taint that keeps other pods from the
//! nodes that have it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, MutatingAdmission, Operation};
use registry_core::api::validation::names;
use registry_core::api::{Object, StatusError};
use resource_views::core::v1::Pod;
use serde_json::{Value, json};

use super::concerns;
use crate::api::core::pods::Pods;

/// The plug-in.
pub(super) struct ExtendedToleration;

impl AdmissionPlugin for ExtendedToleration {
    fn name(&self) -> &'static str {
        "ExtendedResourceToleration"
    }
}

#[async_trait]
impl MutatingAdmission for ExtendedToleration {
    async fn admit(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(pod) = object else { return Ok(()) };
        if !concerns::<Pods>(attributes, &[Operation::Create, Operation::Update]) {
            return Ok(());
        }
        let resources = requested(pod);
        if resources.is_empty() {
            return Ok(());
        }
        let own = Pod(pod).spec().tolerations().value().and_then(Value::as_array);
        let mut tolerations = own.cloned().unwrap_or_default();
        for resource in resources {
            let toleration = json!({"key": resource, "operator": "Exists", "effect": "NoSchedule"});
            let text = |of: &Value, field: &str| {
                of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let is_same = |other: &&mut Value| {
                ["key", "operator", "effect", "value"]
                    .iter()
                    .all(|field| text(other, field) == text(&toleration, field))
            };
            let mut is_present = false;
            for present in tolerations.iter_mut().filter(is_same) {
                *present = toleration.clone();
                is_present = true;
            }
            if !is_present {
                tolerations.push(toleration);
            }
        }
        pod.set(&["spec", "tolerations"], tolerations.into());
        Ok(())
    }
}

/// Returns the extended resources that a pod's containers request.
fn requested(pod: &Object) -> BTreeSet<String> {
    let containers = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| pod.get(&["spec", list]).and_then(Value::as_array));
    let requests =
        containers.flatten().filter_map(|container| container.pointer("/resources/requests")?.as_object());
    requests.flat_map(|requests| requests.keys()).filter(|name| is_extended(name)).cloned().collect()
}

fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_extended_resources_are_tolerated() {
        let requests =
            json!({"cpu": "1", "example.com/gpu": "1", "hugepages-1Gi": "1", "kubernetes.io/x": "1"});
        let pod = json!({"spec": {"initContainers": [{"resources": {"requests": requests}}]}});
        let found = requested(&Object::from_value(pod).unwrap());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["example.com/gpu"]);
    }
}
